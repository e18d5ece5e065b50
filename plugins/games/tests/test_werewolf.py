"""Werewolf: rules, secrets, and the chances of the werewolves by a published recursion."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import prod, sqrt
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_games.social.werewolf.game import Werewolf
from palestra_games.social.werewolf.rules import (
    DOCTOR,
    NIGHT,
    NOBODY,
    SEER,
    TALK,
    VILLAGER,
    VOTE,
    WEREWOLF,
    Inspect,
    Kill,
    Pass,
    Protect,
    Say,
    Sleep,
    Vote,
    Whisper,
    knowledge,
)

# Seats of a game dealt in order: werewolves 0 and 1, seer 2, doctor 3, villagers 4 to 6.
GAME = Werewolf(shuffle=False)


def name(seat: int) -> str:
    return f"player_{seat}"


def night(episode: Episode, kill: tuple[int, int], inspect: int = 0, protect: int = 3) -> Episode:
    """Play a night of the game dealt in order; `kill` is what seats 0 and 1 vote for."""
    wished = {0: Kill(name(kill[0])), 1: Kill(name(kill[1]))}
    wished |= {2: Inspect(name(inspect)), 3: Protect(name(protect))}
    episode.act({seat: wished.get(seat, Sleep()) for seat in episode.to_act})
    return episode


def be_silent(episode: Episode) -> Episode:
    while episode.state.phase == TALK:
        episode.act({episode.to_act[0]: Pass()})
    return episode


def lynch(episode: Episode, target: int) -> Episode:
    """Everybody votes for one seat, which votes for the first other."""
    be_silent(episode)
    other = next(seat for seat in episode.to_act if seat != target)
    votes = {s: Vote(name(target if s != target else other)) for s in episode.to_act}
    episode.act(votes)
    return episode


def start(**options: Any) -> Episode:
    return Episode(Werewolf(**{"shuffle": False, **options}), seed=0)


# The chances of the werewolves


@cache
def by_day(players: int, wolves: int) -> Fraction:
    """Braverman, Etesami and Mossel 2008: the chance of the werewolves before a day.

    One of all is lynched, drawn evenly, then one of the others dies at night, until one side is
    gone.
    """
    if wolves <= 0:
        return Fraction(0)
    if wolves >= players:
        return Fraction(1)
    hit = Fraction(wolves, players)
    return hit * by_day(players - 2, wolves - 1) + (1 - hit) * by_day(players - 2, wolves)


@cache
def by_day_to_parity(players: int, wolves: int) -> Fraction:
    """The same where the werewolves have won as soon as they are as many as the others."""
    if wolves == 0:
        return Fraction(0)
    if 2 * wolves >= players:
        return Fraction(1)
    hit = Fraction(wolves, players)
    after = Fraction(0)
    for chance, left in ((hit, wolves - 1), (1 - hit, wolves)):
        decided = left == 0 or 2 * left >= players - 1
        after += chance * (Fraction(left > 0) if decided else by_day_to_parity(players - 2, left))
    return after


@pytest.mark.parametrize("players", range(1, 20, 2))
def test_stopping_at_parity_changes_nothing_where_an_odd_number_meets_by_day(players: int) -> None:
    for wolves in range(players + 1):
        assert by_day(players, wolves) == by_day_to_parity(players, wolves)


@pytest.mark.parametrize("players", range(1, 20, 2))
def test_the_recursion_gives_the_closed_form_for_one_werewolf(players: int) -> None:
    # Migdal, "A mathematical model of the Mafia game", 2010: (n - 1)!! / n!!
    closed = Fraction(prod(range(players - 1, 0, -2)), prod(range(players, 0, -2)))
    assert by_day(players, 1) == closed


def wolves_win(game: Werewolf, seed: int) -> bool:
    """Play one game with random votes and nobody talking."""
    state, rng = game.initial_state(seed), Rng.seeded(seed, stream=9)
    while acting := game.to_act(state):
        game.step(state, {seat: game.sample(state, seat, rng) for seat in acting})
    return state.winners() == WEREWOLF


@pytest.mark.parametrize(
    ("players", "wolves"), [(6, 1), (8, 1), (8, 2), (10, 3), (7, 2), (9, 2), (5, 1)]
)
def test_random_votes_give_the_published_chance(players: int, wolves: int) -> None:
    game = Werewolf(players, wolves, seer=False, doctor=False, talk_rounds=0)
    # the first night comes before the first day
    expected = float(by_day_to_parity(players - 1, wolves))
    if players % 2 == 0:
        assert expected == float(by_day(players - 1, wolves))
    games = 1_500
    won = sum(wolves_win(game, seed) for seed in range(games))
    margin = 4 * sqrt(games * expected * (1 - expected))
    assert abs(won - games * expected) <= margin


# The rules


def test_seven_players_have_the_roles_of_the_paper() -> None:
    counts = Counter(Werewolf().initial_state(3).roles)
    assert counts == {WEREWOLF: 2, SEER: 1, DOCTOR: 1, VILLAGER: 3}


def test_every_seat_gets_every_role_about_equally_often() -> None:
    dealt = np.array([Werewolf().initial_state(seed).roles for seed in range(700)])
    for role, share in ((WEREWOLF, 2 / 7), (SEER, 1 / 7), (DOCTOR, 1 / 7), (VILLAGER, 3 / 7)):
        counts = (dealt == role).sum(axis=0)
        assert np.all(abs(counts - 700 * share) < 5 * sqrt(700 * share * (1 - share)))


def test_the_victim_dies_and_is_never_asked_again() -> None:
    episode = night(start(), (5, 5))
    assert episode.state.alive == [0, 1, 2, 3, 4, 6]
    assert 5 not in lynch(episode, 6).to_act
    assert episode.state.phase == NIGHT


def test_the_doctor_saves_whom_he_protects_himself_included() -> None:
    for target in (5, 3):
        episode = night(start(), (target, target), protect=target)
        assert len(episode.state.alive) == 7
        assert "nobody died" in episode.log[-1][-1].text


def test_the_seer_alone_learns_what_he_inspected() -> None:
    for target, code in ((1, 1 + WEREWOLF), (4, 5)):
        episode = night(start(), (5, 5), inspect=target)
        for seat in range(7):
            learned = [e for e in episode.transcript(seat) if "you saw" in e.text]
            assert len(learned) == (seat == 2)
        assert knowledge(episode.state, 2)[target] == code
        assert knowledge(episode.state, 6)[target] == 0


def test_only_the_pack_hears_how_it_voted() -> None:
    episode = night(start(), (5, 6))
    for seat in range(7):
        told = [event for event in episode.transcript(seat) if event.kind == "pack"]
        assert len(told) == (seat in (0, 1))


def test_a_split_pack_is_settled_by_lot() -> None:
    victims = set()
    for seed in range(30):
        episode = Episode(GAME, seed)
        victims.add(night(episode, (5, 6)).state.nights[0].victim)
    assert victims == {5, 6}


def test_a_tied_vote_is_settled_by_lot_among_the_tied() -> None:
    lynched = set()
    for seed in range(40):
        episode = be_silent(night(Episode(GAME, seed), (6, 6)))
        votes = {0: 2, 1: 2, 2: 4, 3: 4, 4: 5, 5: 3}
        episode.act({seat: Vote(name(target)) for seat, target in votes.items()})
        lynched.add(episode.state.lynched[0])
    assert lynched == {2, 4}


def test_the_role_of_the_lynched_is_shown_and_of_the_killed_is_not() -> None:
    episode = lynch(night(start(), (5, 5)), 1)
    assert "player_1 is lynched and was a werewolf." in [e.text for e in episode.transcript(6)]
    assert knowledge(episode.state, 6) == [0, 1 + WEREWOLF, 0, 0, 0, 5, 1 + VILLAGER]


@pytest.mark.parametrize(
    ("seat", "action"),
    [
        (0, Kill("player_1")),  # a fellow
        (0, Kill("player_0")),
        (0, Sleep()),
        (2, Inspect("player_2")),
        (2, Kill("player_4")),
        (4, Protect("player_4")),
        (4, Vote("player_0")),
        (4, Say("Good evening.")),
    ],
)
def test_what_is_not_possible_at_night(seat: int, action: Any) -> None:
    with pytest.raises(InvalidAction):
        GAME.check(GAME.initial_state(0), seat, action)


def test_nobody_votes_for_himself_or_for_the_dead() -> None:
    episode = be_silent(night(start(), (5, 5)))
    for target in (4, 5):
        with pytest.raises(InvalidAction):
            GAME.check(episode.state, 4, Vote(name(target)))


def test_the_village_wins_with_the_last_werewolf() -> None:
    episode = night(start(), (5, 5), protect=5)
    lynch(episode, 0)
    episode.act(
        {1: Kill("player_6"), 2: Inspect("player_4"), 3: Protect("player_4")}
        | {seat: Sleep() for seat in (4, 5, 6)}
    )
    lynch(episode, 1)
    assert episode.over
    assert "village" in episode.outcome.reason
    assert list(episode.returns) == [-1, -1, 1, 1, 1, 1, 1]  # the dead of the village too
    assert episode.outcome.winners == (2, 3, 4, 5, 6)


def test_a_learner_that_dies_is_still_paid_with_his_side() -> None:
    env = palestra.make("games/Werewolf-v0", seat=4, opponents="villager")
    paid = []
    for seed in range(12):
        _, info = env.reset(seed=seed)
        done = False
        while not done:
            _, reward, done, _, info = env.step(int(info["action_mask"].argmax()))
        paid.append(reward)
        assert env.episode.over
    assert set(paid) == {-1.0, 1.0}


def test_the_werewolves_win_when_they_are_as_many_as_the_others() -> None:
    episode = lynch(night(start(), (5, 5)), 6)
    assert not episode.over
    night(episode, (4, 4))
    assert episode.over
    assert episode.state.alive == [0, 1, 2, 3]
    assert list(episode.returns) == [1, 1, -1, -1, -1, -1, -1]


def test_everybody_alive_speaks_in_turn_as_often_as_the_rules_say() -> None:
    episode = night(start(talk_rounds=2), (5, 5))
    spoken = []
    while episode.state.phase == TALK:
        spoken.append(episode.to_act[0])
        episode.act({episode.to_act[0]: Say("Hm.")})
    assert spoken == [1, 2, 3, 4, 6, 0] * 2  # another seat begins every day
    assert episode.state.phase == VOTE


def test_without_talk_the_vote_follows_the_night() -> None:
    assert night(start(talk_rounds=0), (5, 5)).state.phase == VOTE


def test_lines_and_own_words_are_told_apart_in_the_array_view() -> None:
    episode = night(start(), (5, 5))
    lines = [Say("I think player_0 is a werewolf."), Say("Who else?"), Pass()]
    for line in lines:
        episode.act({episode.to_act[0]: line})
    heard = episode.observation(6)[-7:].tolist()
    assert heard == [0, 2, 2 + 22, 1, 0, 0, 0]
    assert 'player_2: "Who else?"' in episode.describe(6)


def test_seats_have_roles_and_teams_only_where_they_are_not_shuffled() -> None:
    assert [seat.role for seat in GAME.seats][:4] == ["werewolf", "werewolf", "seer", "doctor"]
    assert [seat.team for seat in GAME.seats] == [1, 1, 0, 0, 0, 0, 0]
    assert {seat.role for seat in Werewolf().seats} == {""}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_players": 4}, "5 to 12"),
        ({"num_players": 6, "werewolves": 3}, "from 1 to 2"),
        ({"werewolves": 0}, "from 1 to 5"),
        ({"werewolves": 4}, "from 1 to 3"),
        ({"talk_rounds": 6}, "from 0 to 5"),
        ({"message_limit": 10}, "message_limit"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, int], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Werewolf(**options)  # type: ignore[arg-type]


# What is hidden


def positions(seed: int, game: Werewolf) -> list[Any]:
    """Every state of a random game but the last."""
    episode, rng, states = Episode(game, seed), Rng(seed), []
    while not episode.over:
        states.append(episode.state)
        episode.act({s: game.sample(states[-1], s, rng) for s in episode.to_act})
    return states


def fits(state: Any, seat: int, roles: tuple[int, ...]) -> bool:
    """Whether a deal could have led to what a player has seen, by the rules and nothing else."""
    true, own = state.roles, state.roles[seat]
    if any(roles[other] != true[other] for other in (seat, *state.lynched)):
        return False
    known = {night.chosen[seat] for night in state.nights} if own == SEER else set()
    known = set(range(len(roles))) if own == WEREWOLF else known - {NOBODY}
    if any((roles[other] == WEREWOLF) != (true[other] == WEREWOLF) for other in known):
        return False
    alive = set(range(len(roles)))
    for number, past in enumerate(state.nights):
        if past.victim == NOBODY and DOCTOR not in [roles[other] for other in alive]:
            return False
        attacked = past.chosen[seat] if own == DOCTOR else NOBODY
        attacked = attacked if past.victim == NOBODY else past.victim
        if attacked != NOBODY and roles[attacked] == WEREWOLF:
            return False
        alive -= {past.victim, *state.lynched[number : number + 1]}
    return True


@pytest.mark.parametrize("seed", range(4))
def test_redrawn_roles_are_all_that_fit_and_no_others(seed: int) -> None:
    game = Werewolf(7, 1)
    state = positions(seed, game)[-1]
    for seat in range(7):
        possible = {d for d in set(permutations(state.roles)) if fits(state, seat, d)}
        drawn = Counter(
            tuple(game.determinize(state, seat, Rng(n)).roles) for n in range(25 * len(possible))
        )
        assert set(drawn) == possible
        assert 5 < min(drawn.values()) <= max(drawn.values()) < 60  # 25 each on average


@pytest.mark.parametrize("seed", range(8))
def test_a_redrawn_game_looks_the_same_and_can_have_been_played(seed: int) -> None:
    game = Werewolf(9, 3)
    for state in positions(seed, game)[::4]:
        for seat in range(9):
            twin = game.determinize(state, seat, Rng(seed))
            assert game.describe(twin, seat) == game.describe(state, seat)
            assert np.array_equal(game.observe(twin, seat), game.observe(state, seat))
            assert Counter(twin.roles) == Counter(state.roles)
            _can_have_been_played(twin)


def _can_have_been_played(state: Any) -> None:
    for number, past in enumerate(state.nights):
        alive = state.alive_before(number)
        wolves = [s for s in alive if state.roles[s] == WEREWOLF]
        doctors = [s for s in alive if state.roles[s] == DOCTOR]
        assert state.roles[past.target] != WEREWOLF
        assert past.target in [past.chosen[wolf] for wolf in wolves]
        saved = any(past.chosen[doctor] == past.target for doctor in doctors)
        assert past.victim == (NOBODY if saved else past.target)
        for seat, chosen in enumerate(past.chosen):
            acts = seat in alive and state.roles[seat] != VILLAGER
            assert (chosen != NOBODY) == acts
            assert chosen in (*alive, NOBODY)


def without_lots(state: Any, seat: int, rng: Rng) -> Any:
    """A move after which nothing is left to lots: the pack and the village agree."""
    if state.phase == TALK:
        return Pass() if rng.below(2) else Say("I am a villager.")
    if state.phase == VOTE:
        return Vote(name(state.alive[0] if seat != state.alive[0] else state.alive[1]))
    role = state.roles[seat]
    if role == WEREWOLF:
        return Kill(name([s for s in state.alive if state.roles[s] != WEREWOLF][-1]))
    if role == SEER:
        return Inspect(name(rng.choice([s for s in state.alive if s != seat])))
    return Protect(name(rng.choice(state.alive))) if role == DOCTOR else Sleep()


def retold(game: Werewolf, state: Any, episode: Episode) -> Episode:
    """Play the past of a redrawn state by the rules, with the words that were said."""
    twin = Episode(game, 0)
    dealt = twin.state
    dealt.roles = state.roles
    twin.load(dealt)
    kinds = {WEREWOLF: Kill, SEER: Inspect, DOCTOR: Protect}
    for played in episode.history():
        actions, at = dict(played.actions), twin.state
        if at.phase == NIGHT:
            chosen = state.nights[len(at.nights)].chosen
            for seat in actions:
                kind = kinds.get(state.roles[seat])
                actions[seat] = kind(name(chosen[seat])) if kind else Sleep()
        twin.act(actions)
    return twin


@pytest.mark.parametrize("seed", [0, 1, 3, 5])  # the doctor saves somebody in the last two
def test_a_redrawn_past_played_by_the_rules_tells_the_player_the_same(seed: int) -> None:
    game, rng = Werewolf(8), Rng(seed)
    episode = Episode(game, seed)
    while True:
        state = episode.state
        episode.act({seat: without_lots(state, seat, rng) for seat in episode.to_act})
        if episode.over:
            break
        for seat in range(8):
            twin = retold(game, game.determinize(episode.state, seat, rng), episode)
            assert list(twin.transcript(seat)) == list(episode.transcript(seat))
            assert twin.describe(seat) == episode.describe(seat)


# Scripted players


def village_wins(agent: str, games: int = 150) -> float:
    records = palestra.play("games/Werewolf-v0", agents=[agent] * 7, episodes=games, seed=1)
    return sum("village" in record.outcome.reason for record in records) / games


def test_a_village_that_hears_its_seer_wins_more_often() -> None:
    assert village_wins("telltale-seer") > village_wins("villager") + 0.15


def test_the_seer_names_the_werewolf_he_saw_and_the_village_follows() -> None:
    agent = palestra.make_agent("telltale-seer")
    episode = night(start(), (5, 5), inspect=1)
    while episode.to_act:
        if episode.state.phase == NIGHT:
            break
        turns = [palestra.Turn(episode, seat) for seat in episode.to_act]
        answers = [decision.action for decision in agent.act(turns)]
        episode.act(dict(zip(episode.to_act, answers, strict=True)))
    assert 'player_2: "I am the seer: player_1 is a werewolf."' in episode.describe(4)
    assert episode.state.lynched == [1]


def test_scripted_players_play_nothing_else() -> None:
    with pytest.raises(InvalidOption, match="Werewolf"):
        palestra.play("games/Hangman-v0", agents=["villager"], episodes=1)


# Options of the study


def test_only_the_pack_hears_what_it_says_at_night() -> None:
    episode = start(pack_talk=2)
    everybody = {seat: Sleep() for seat in range(7)}
    episode.act(everybody | {0: Whisper("The seer sits at 2."), 1: Pass()})
    episode.act(everybody | {0: Pass(), 1: Whisper("Then kill 2.")})
    for seat in range(7):
        read = episode.prompt(seat, 0) + str(episode.scene(seat))
        assert ("The seer sits at 2." in read) == ("Then kill 2." in read) == (seat in (0, 1))
    assert episode.to_act == tuple(range(7))  # who acts tells nobody who talks
    night(episode, (2, 2))
    assert not any("Then kill 2." in episode.describe(seat) for seat in (0, 1))  # heard last night
    lynch(episode, 6)
    assert "round 1 of 2" in episode.describe(4)


def test_while_the_pack_talks_the_others_sleep() -> None:
    game = Werewolf(shuffle=False, pack_talk=1)
    state = game.initial_state(0)
    for seat, action in ((2, Inspect("player_0")), (0, Kill("player_4")), (4, Whisper("Hm."))):
        with pytest.raises(InvalidAction):
            game.check(state, seat, action)


def voted(votes: dict[int, int], **options: Any) -> Episode:
    """The first day's votes after a night in which seat 5 died; -1 abstains."""
    episode = be_silent(night(start(**options), (5, 5)))
    episode.act({s: Vote(name(v) if v >= 0 else "nobody") for s, v in votes.items()})
    return episode


@pytest.mark.parametrize(
    ("votes", "ties", "lynched"),
    [
        ({0: -1, 1: -1, 2: -1, 3: 4, 4: -1, 6: -1}, "lot", 4),  # one vote is the most
        ({0: -1, 1: -1, 2: -1, 3: -1, 4: -1, 6: -1}, "lot", NOBODY),
        ({0: 2, 1: 2, 2: 0, 3: 0, 4: 6, 6: -1}, "nobody", NOBODY),
        ({0: 2, 1: 2, 2: 0, 3: 2, 4: 0, 6: -1}, "nobody", 2),
    ],
)
def test_abstentions_and_ties(votes: dict[int, int], ties: str, lynched: int) -> None:
    episode = voted(votes, abstain=True, ties=ties)
    assert episode.state.lynched == [lynched]
    assert episode.state.phase == NIGHT
    assert len(episode.state.alive) == (6 if lynched == NOBODY else 5)


def test_after_three_days_without_a_lynching_somebody_must_be_voted_for() -> None:
    episode = start(abstain=True, num_players=12, werewolves=1)
    for day in range(4):
        wolf, rest = {0: Kill(name(11 - day))}, {s: Sleep() for s in episode.to_act}
        rest |= {1: Inspect(name(0)), 2: Protect(name(2))}
        episode.act(rest | wolf)
        be_silent(episode)
        if day < 3:
            episode.act({seat: Vote("nobody") for seat in episode.to_act})
    with pytest.raises(InvalidAction):
        episode.parse(0, "Vote(target='nobody')")


def test_the_role_of_the_lynched_can_stay_hidden() -> None:
    episode = lynch(night(start(lynched_role=False), (5, 5)), 1)
    assert "werewolf" not in " ".join(e.text for e in episode.transcript(6)[1:])
    assert knowledge(episode.state, 6)[1] == 0
    assert knowledge(episode.state, 0)[1] == 1 + WEREWOLF  # a fellow
    drawn = [episode.game.determinize(episode.state, 6, Rng(n)).roles for n in range(60)]
    assert {roles[1] for roles in drawn} == {VILLAGER, WEREWOLF, SEER, DOCTOR}
    assert all(0 < 2 * sum(r[s] == WEREWOLF for s in (0, 2, 3, 4, 6)) < 5 for r in drawn)
