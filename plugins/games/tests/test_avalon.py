"""Avalon: the rulebook's tables, who knows whom, and exact chances of scripted players."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn
from palestra_games.social.avalon.game import Avalon
from palestra_games.social.avalon.rules import (
    ASSASSIN,
    ASSASSINATE,
    DISCUSS,
    IS_EVIL,
    MERLIN,
    MERLIN_OR_MORGANA,
    MINION,
    MORDRED,
    MORGANA,
    OBERON,
    PERCIVAL,
    PROPOSE,
    SERVANT,
    UNKNOWN,
    Approve,
    Assassinate,
    Fail,
    Pass,
    Propose,
    Reject,
    Say,
    Succeed,
    initial_knowledge,
    is_evil,
)

# Seats of a game dealt in order: Merlin, Percival, a servant, assassin, Morgana; seat 0 leads.
GAME = Avalon(shuffle=False, talk_rounds=0)


def names(*seats: int) -> str:
    return ", ".join(f"player_{seat}" for seat in seats)


def start(**options: Any) -> Episode:
    return Episode(Avalon(**{"shuffle": False, "talk_rounds": 0, **options}), 0)


def vote(episode: Episode, team: tuple[int, ...], approve: int) -> Episode:
    """Propose a team, which the first `approve` seats approve."""
    episode.act({episode.to_act[0]: Propose(names(*team))})
    episode.act({s: Approve() if s < approve else Reject() for s in episode.to_act})
    return episode


def quest(episode: Episode, team: tuple[int, ...], fails: tuple[int, ...] = ()) -> Episode:
    vote(episode, team, episode.game.num_players)
    episode.act({s: Fail() if s in fails else Succeed() for s in episode.to_act})
    return episode


# The tables of the rulebook


@pytest.mark.parametrize(
    ("players", "good", "evil", "sizes", "fails"),
    [
        (5, 3, 2, (2, 3, 2, 3, 3), 1),
        (6, 4, 2, (2, 3, 4, 3, 4), 1),
        (7, 4, 3, (2, 3, 3, 4, 4), 2),
        (8, 5, 3, (3, 4, 4, 5, 5), 2),
        (9, 6, 3, (3, 4, 4, 5, 5), 2),
        (10, 6, 4, (3, 4, 4, 5, 5), 2),
    ],
)
def test_sides_team_sizes_and_fails_are_those_of_the_rulebook(
    players: int, good: int, evil: int, sizes: tuple[int, ...], fails: int
) -> None:
    game = Avalon(players, talk_rounds=0, shuffle=False)
    roles = game.initial_state(0).roles
    assert [is_evil(role) for role in roles] == [False] * good + [True] * evil
    for failing in (1, 2):
        episode, results = Episode(game, 0), []
        for number, size in enumerate(sizes):
            assert game.team_size(episode.state) == size
            # succeed, fail, succeed, then a fourth quest that decides whether there is a fifth
            wished = (number == 1) + (number == 3) * failing
            team = (*range(size - wished), *range(players - wished, players))
            quest(episode, team, tuple(range(players - wished, players)))
            results.append(episode.state.quests[-1].failed)
            if episode.state.phase == ASSASSINATE or episode.over:
                break
        assert results[3] == (failing >= fails)
        assert len(results) == (5 if failing >= fails else 4)


def test_who_knows_whom() -> None:
    roles = [MERLIN, PERCIVAL, SERVANT, ASSASSIN, MORGANA, MORDRED, OBERON, MINION]
    known = {role: initial_knowledge(roles, seat) for seat, role in enumerate(roles)}
    evil, both, none = IS_EVIL, MERLIN_OR_MORGANA, UNKNOWN
    assert known[MERLIN] == [1 + MERLIN, none, none, evil, evil, none, evil, evil]
    assert known[PERCIVAL] == [both, 1 + PERCIVAL, none, none, both, none, none, none]
    assert known[SERVANT] == [none, none, 1 + SERVANT, *[none] * 5]
    assert known[ASSASSIN] == [none, none, none, 1 + ASSASSIN, evil, evil, none, evil]
    assert known[MORDRED] == [none, none, none, evil, evil, 1 + MORDRED, none, evil]
    assert known[OBERON] == [*[none] * 6, 1 + OBERON, none]


def test_without_morgana_percival_knows_merlin() -> None:
    assert initial_knowledge([MERLIN, PERCIVAL, SERVANT, ASSASSIN, MINION], 1)[0] == 1 + MERLIN


# Exact chances: everybody approves, evil players fail every quest, the assassin guesses


def chance_of_the_good(players: int, evil: int, sizes: tuple[int, ...], two_fails: bool) -> Any:
    """Over all seats of the evil and all first leaders, counted without the game."""
    reached = total = 0
    for bad in combinations(range(players), evil):
        for leader in range(players):
            won = lost = 0
            for number, size in enumerate(sizes):
                head = (leader + number) % players
                team = {head, *[seat for seat in range(players) if seat != head][: size - 1]}
                fails = len(team & set(bad))
                failed = fails >= (2 if two_fails and number == 3 else 1)
                won, lost = won + (not failed), lost + failed
                if 3 in (won, lost):
                    break
            reached += won == 3
            total += 1
    return Fraction(reached, total) * (1 - Fraction(1, players - evil))


def played_chance(game: Avalon) -> Fraction:
    """The same by playing every deal, and every answer of the assassin, with the agents."""
    agent = palestra.make_agent("avalon-trusting")
    players, evil = game.num_players, sum(map(is_evil, game.composition))
    chance, deals = Fraction(0), 0
    for bad in combinations(range(players), evil):
        good, dark = ([r for r in game.composition if is_evil(r) == side] for side in (0, 1))
        roles = [dark.pop() if seat in bad else good.pop() for seat in range(players)]
        for leader in range(players):
            deals += 1
            episode = Episode(game, 0)
            state = episode.state
            state.roles, state.leader = roles, leader
            episode.load(state)
            while not episode.over and episode.state.phase != ASSASSINATE:
                turns = [Turn(episode, seat) for seat in episode.to_act]
                answers = [decision.action for decision in agent.act(turns)]
                episode.act(dict(zip(episode.to_act, answers, strict=True)))
            if not episode.over:
                chance += chance_to_escape(episode)
    return chance / deals


def chance_to_escape(episode: Episode) -> Fraction:
    assassin, outcomes = episode.to_act[0], []
    for action in episode.legal_actions(assassin):
        branch = episode.fork()
        branch.act({assassin: action})
        outcomes.append("good win" in (branch.outcome.reason if branch.outcome else ""))
    return Fraction(sum(outcomes), len(outcomes))


@pytest.mark.parametrize(
    ("players", "evil", "sizes", "two_fails"),
    [(5, 2, (2, 3, 2, 3, 3), False), (7, 3, (2, 3, 3, 4, 4), True)],
)
def test_trusting_players_win_as_often_as_all_deals_say(
    players: int, evil: int, sizes: tuple[int, ...], two_fails: bool
) -> None:
    expected = chance_of_the_good(players, evil, sizes, two_fails)
    assert 0 < expected < 1
    assert played_chance(Avalon(players, talk_rounds=0)) == expected


def good_wins(agent: str, games: int) -> float:
    records = palestra.play("games/Avalon-v0", agents=[agent] * 5, episodes=games, seed=2)
    return sum("good win" in record.outcome.reason for record in records if record.outcome) / games


def test_good_players_who_are_careful_win_more_often() -> None:
    exact = float(chance_of_the_good(5, 2, (2, 3, 2, 3, 3), False))
    trusting, careful = good_wins("avalon-trusting", 150), good_wins("avalon-careful", 150)
    assert abs(trusting - exact) < 4 * (exact * (1 - exact) / 150) ** 0.5
    assert careful > trusting + 0.1


def test_a_careful_player_rejects_who_was_on_a_failed_quest() -> None:
    episode = quest(start(), (2, 3), (3,))
    agent = palestra.make_agent("avalon-careful")
    episode.act({1: Propose(names(1, 2, 3))})
    answers = agent.act([Turn(episode, seat) for seat in range(5)])
    assert [answer.action for answer in answers] == [Reject()] * 3 + [Approve()] * 2


# The rules


def test_a_tie_of_votes_rejects() -> None:
    episode = vote(start(num_players=6), (0, 1), 3)
    assert episode.state.phase == PROPOSE
    assert episode.to_act == (1,)
    assert vote(start(num_players=6), (0, 1), 4).to_act == (0, 1)


def test_five_rejected_proposals_lose_the_game_for_the_good() -> None:
    episode = start()
    for leader in range(5):
        assert episode.to_act == (leader,)
        vote(episode, (0, 1), 2)
    assert episode.over
    assert list(episode.returns) == [-1, -1, -1, 1, 1]


def test_a_quest_starts_the_count_of_rejections_again() -> None:
    episode = start()
    for _ in range(4):
        vote(episode, (0, 1), 2)
    quest(episode, (0, 1))
    for _ in range(4):
        vote(episode, (0, 1, 2), 2)
    assert not episode.over
    assert episode.state.leader == 4


def test_three_failed_quests_win_for_the_evil() -> None:
    episode = start()
    for team in ((0, 3), (0, 1, 3), (0, 4)):
        quest(episode, team, team[-1:])
    assert episode.over
    assert episode.outcome is not None
    assert episode.outcome.winners == (3, 4)


@pytest.mark.parametrize(("target", "winners"), [(0, (3, 4)), (1, (0, 1, 2)), (2, (0, 1, 2))])
def test_the_assassin_decides_after_three_successes(target: int, winners: Any) -> None:
    episode = start()
    for team in ((0, 1), (0, 1, 3), (0, 4)):
        quest(episode, team)
    assert episode.to_act == (3,)
    with pytest.raises(InvalidAction):
        episode.act({3: Assassinate("player_4")})  # known to be evil
    episode.act({3: Assassinate(f"player_{target}")})
    assert episode.outcome is not None
    assert episode.outcome.winners == winners


def test_good_players_cannot_fail_a_quest_and_evil_ones_may_succeed() -> None:
    episode = vote(start(), (0, 3), 5)
    with pytest.raises(InvalidAction):
        episode.game.check(episode.state, 0, Fail())
    episode.act({0: Succeed(), 3: Succeed()})
    assert not episode.state.quests[0].failed


@pytest.mark.parametrize(
    "team", ["player_0", "player_0, player_0", "player_0, player_9", "player_0, player_1, player_2"]
)
def test_a_team_has_the_right_number_of_different_players(team: str) -> None:
    with pytest.raises(InvalidAction):
        GAME.check(GAME.initial_state(0), 0, Propose(team))


def test_a_team_may_be_written_in_any_order() -> None:
    episode = start()
    episode.act({0: episode.parse(0, "I trust them.\nPropose(team='player_3,player_1')")})
    assert episode.state.proposals[0].team == [1, 3]


def test_everybody_speaks_once_from_the_leader_on_before_every_proposal() -> None:
    episode = start(talk_rounds=1)
    for _ in range(2):
        spoken = []
        while episode.state.phase == DISCUSS:
            spoken.append(episode.to_act[0])
            episode.act({spoken[-1]: Pass() if spoken[-1] else Say("Trust me.")})
        assert spoken == [(episode.state.leader + i) % 5 for i in range(5)]
        vote(episode, (0, 1), 2)


def test_a_fail_is_counted_and_not_named() -> None:
    episode = quest(start(), (0, 3), (3,))
    for seat in (0, 4):
        assert "Quest 1 of player_0, player_3 failed: fails 1." in episode.describe(seat)
        assert "You played" not in episode.describe(seat)
    assert "You played a fail." in episode.describe(3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_players": 4}, "5 to 10"),
        ({"mordred": True}, "at most 1"),
        ({"talk_rounds": 4}, "0 to 3"),
        ({"message_limit": 5}, "message_limit"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Avalon(**options)


# What is hidden


def fits(state: Any, seat: int, roles: tuple[int, ...]) -> bool:
    """Whether a deal could have led to what a player has seen."""
    if initial_knowledge(roles, seat) != initial_knowledge(state.roles, seat):
        return False
    if state.phase == ASSASSINATE and roles.index(ASSASSIN) != state.roles.index(ASSASSIN):
        return False
    for past in state.quests:
        able = [other for other in past.team if is_evil(roles[other]) and other != seat]
        if len(past.failing) - (seat in past.failing) > len(able):
            return False
    return True


@pytest.mark.parametrize("stage", [0, 1, 3])
def test_redrawn_roles_are_all_that_fit_and_no_others(stage: int) -> None:
    episode = start(num_players=7, mordred=True)
    teams = ((0, 4), (1, 5, 6), (2, 3, 6))
    for team in teams[:stage]:
        quest(episode, team, (team[-1],) if team != teams[1] else (5, 6))
        if episode.over:
            break
    game, state = episode.game, episode.state
    state.phase = PROPOSE
    for seat in range(7):
        possible = {d for d in set(permutations(state.roles)) if fits(state, seat, d)}
        tries = min(20 * len(possible), 1_500)
        drawn = Counter(tuple(game.determinize(state, seat, Rng(n)).roles) for n in range(tries))
        assert set(drawn) <= possible
        if tries == 20 * len(possible):
            assert set(drawn) == possible
            assert max(drawn.values()) < 50  # 20 each on average


@pytest.mark.parametrize("seed", range(4))
def test_a_redrawn_game_looks_the_same_and_can_have_been_played(seed: int) -> None:
    game, rng = Avalon(8, mordred=True, talk_rounds=0), Rng(seed)
    episode = Episode(game, seed)
    while not episode.over:
        state = episode.state
        for seat in range(8):
            twin = game.determinize(state, seat, rng)
            assert game.describe(twin, seat) == game.describe(state, seat)
            assert np.array_equal(game.observe(twin, seat), game.observe(state, seat))
            assert fits(state, seat, tuple(twin.roles))
            for past, true in zip(twin.quests, state.quests, strict=True):
                assert len(past.failing) == len(true.failing)
                assert all(is_evil(twin.roles[s]) and s in past.team for s in past.failing)
        episode.act({s: game.sample(state, s, rng) for s in episode.to_act})


def test_scripted_players_play_nothing_else() -> None:
    with pytest.raises(InvalidOption, match="Avalon"):
        palestra.play("games/Hangman-v0", agents=["avalon-trusting"], episodes=1)
