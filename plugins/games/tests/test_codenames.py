"""Codenames: the rulebook's counts and turns, invalid clues, exact chances of random operatives."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import cache
from typing import Any

import palestra
import pytest
from palestra import Episode, Grid, InvalidAction, InvalidOption, Rng
from palestra.scene import Table
from palestra_games.social.associations import english, related_words, words_of
from palestra_games.social.codenames import (
    ASSASSIN,
    BYSTANDER,
    Clue,
    Codenames,
    Guess,
    Say,
    Stop,
    Suggest,
)

ENV = "games/Codenames-v0"
GAME = Codenames()


def begun(seed: int = 0, clue: str = "zzz", number: int = 2) -> Episode:
    """The first clue has been given; the operative of the team that begins is to act."""
    episode = Episode(GAME, seed)
    episode.act({episode.to_act[0]: Clue(clue, number)})
    return episode


def word(episode: Episode, owner: int) -> Guess:
    state = episode.state
    return Guess(GAME.names(state, [state.left(owner)[0]])[0])


def touch(episode: Episode, owner: int) -> None:
    episode.act({episode.to_act[0]: word(episode, owner)})


@pytest.mark.parametrize("seed", range(20))
def test_the_key_has_nine_eight_seven_and_one(seed: int) -> None:
    state = GAME.initial_state(seed)
    counts = Counter(state.key)
    assert (counts[state.team], counts[1 - state.team]) == (9, 8)
    assert (counts[BYSTANDER], counts[ASSASSIN]) == (7, 1)
    assert len(set(state.words)) == 25


def test_both_teams_begin() -> None:
    assert {GAME.initial_state(seed).team for seed in range(10)} == {0, 1}


def test_one_guess_more_than_the_clue_says_and_then_the_other_team() -> None:
    episode = begun(number=2)
    team = episode.state.team
    with pytest.raises(InvalidAction):
        episode.act({2 * team + 1: Stop()})  # one word must be touched
    for _ in range(3):
        assert episode.to_act == (2 * team + 1,)
        touch(episode, team)
    assert episode.to_act == (2 * (1 - team),)


def test_an_operative_may_stop_after_the_first_word() -> None:
    episode = begun()
    team = episode.state.team
    touch(episode, team)
    episode.act({2 * team + 1: Stop()})
    assert episode.to_act == (2 * (1 - team),)


def test_zero_lifts_the_limit() -> None:
    episode = begun(number=0)
    team = episode.state.team
    for _ in range(9):
        touch(episode, team)
    assert episode.over
    assert [episode.outcome.results[seat] for seat in (2 * team, 2 * team + 1)] == ["win"] * 2


@pytest.mark.parametrize("whose", ["other", "bystander"])
def test_a_wrong_word_ends_the_turn(whose: str) -> None:
    episode = begun()
    team = episode.state.team
    touch(episode, BYSTANDER if whose == "bystander" else 1 - team)
    assert episode.to_act == (2 * (1 - team),)
    assert len(episode.state.left(1 - team)) == (8 if whose == "bystander" else 7)


def test_the_assassin_loses_at_once() -> None:
    episode = begun()
    team = episode.state.team
    touch(episode, ASSASSIN)
    assert episode.over
    assert list(episode.returns) == [-1.0 if seat // 2 == team else 1.0 for seat in range(4)]


def test_who_covers_the_others_last_word_lets_them_win() -> None:
    episode = begun()
    team, state = episode.state.team, episode.state
    last = state.left(1 - team)[-1]
    state.covered = tuple(o == 1 - team and p != last for p, o in enumerate(state.key))
    episode.load(state)
    touch(episode, 1 - team)
    assert episode.over
    assert episode.returns[2 * team] == -1


@pytest.mark.parametrize(
    ("clue", "name", "near"),
    [
        ("whales", "whale", True),
        ("swimming", "swim", True),
        ("horse", "horseshoe", True),
        ("shoe", "horseshoe", True),
        ("snowman", "snow", True),
        ("ice", "dice", False),
        ("ocean", "whale", False),
    ],
)
def test_forms_and_parts_of_a_word(clue: str, name: str, near: bool) -> None:
    assert related_words(clue, name) == related_words(name, clue) == near


def test_an_invalid_clue_ends_the_turn_and_covers_a_word_of_the_other_team() -> None:
    episode = Episode(GAME, 1)
    team = episode.state.team
    (name,) = GAME.names(episode.state, [0])
    episode.act({2 * team: Clue(name.upper() + "S", 1)})
    assert episode.to_act == (2 * (1 - team),)
    assert len(episode.state.left(1 - team)) == 7
    assert f"invalid because of {name}" in "\n".join(e.text for e in episode.transcript(0))


def test_a_covered_word_may_be_said() -> None:
    episode = begun(number=1)
    team = episode.state.team
    first = word(episode, team).word
    touch(episode, team)
    episode.act({2 * team + 1: Stop()})
    episode.act({2 * (1 - team): Clue(first, 1)})
    assert episode.to_act == (2 * (1 - team) + 1,)


@pytest.mark.parametrize("clue", ["two words", "", "a-b", 7, "x" * 25])
def test_a_clue_is_one_word(clue: Any) -> None:
    episode = Episode(GAME, 0)
    with pytest.raises(InvalidAction):
        episode.act({episode.to_act[0]: Clue(clue, 1)})


def test_operatives_cannot_tell_keys_apart() -> None:
    episode = begun()
    twin = episode.fork()
    twin.load(GAME.determinize(episode.state, 1, Rng(3)))
    assert twin.state.key != episode.state.key
    for seat in (1, 3):
        assert twin.describe(seat) == episode.describe(seat)
        assert twin.observation(seat).tolist() == episode.observation(seat).tolist()
    assert twin.describe(0) != episode.describe(0)


# Operatives at random


@cache
def chance(own: int, other: int, bystanders: int, until_miss: bool) -> float:
    """How often the team to move wins when operatives touch words at random."""
    total = own + other + bystanders + 1
    hit = 1.0
    if own > 1:
        left = own - 1, other, bystanders
        turn = (
            chance(*left, until_miss)
            if until_miss
            else 1 - chance(other, own - 1, bystanders, until_miss)
        )
        hit = turn
    lose = 0.0 if other == 1 else 1 - chance(other - 1, own, bystanders, until_miss)
    won = own * hit + other * lose
    if bystanders:
        won += bystanders * (1 - chance(other, own, bystanders - 1, until_miss))
    return won / total


@pytest.mark.parametrize("until_miss", [False, True])
def test_random_operatives_win_as_often_as_the_recursion_says(until_miss: bool) -> None:
    rng, games, won = Rng(7), 600, 0
    for seed in range(games):
        episode = Episode(GAME, seed)
        first = episode.state.team
        while not episode.over:
            (seat,), state = episode.to_act, episode.state
            if not state.guessing:
                episode.act({seat: Clue("zzz", 0)})
            elif state.guesses and not until_miss:
                episode.act({seat: Stop()})
            else:
                places = [place for place in range(25) if not state.covered[place]]
                episode.act({seat: Guess(GAME.names(state, [rng.choice(places)])[0])})
        won += episode.returns[2 * first] > 0
    expected = chance(9, 8, 7, until_miss)
    assert won / games == pytest.approx(
        expected, abs=4 * (expected * (1 - expected) / games) ** 0.5
    )


# Several operatives


def test_the_others_advise_before_each_touch_and_everybody_hears_it() -> None:
    episode = Episode(Codenames(num_players=8), 0)
    game, team = episode.game, episode.state.team
    first = 4 * team
    episode.act({first: Clue("zzz", 2)})
    one, two, toucher = game.speakers(episode.state)
    assert {one, two, toucher} == {first + 1, first + 2, first + 3}
    own = game.names(episode.state, episode.state.left(team))[0]
    with pytest.raises(InvalidAction):
        episode.act({one: Guess(own)})
    episode.act({one: Suggest(own)})
    episode.act({two: Say("I am not sure.")})
    rival = 4 * (1 - team) + 1
    for seat in (toucher, rival):
        assert f"player_{one} suggests {own}." in episode.describe(seat)
        assert f'player_{two} says: "I am not sure."' in episode.describe(seat)
    place = episode.state.words.index(game.vocabulary.index(own))
    assert episode.observation(toucher)[-2:].tolist() == [1 + place, -1]
    episode.act({toucher: Guess(own)})
    assert episode.to_act == (one,)  # advice on the next touch
    assert episode.observation(toucher)[-2:].tolist() == [0, 0]


def test_another_operative_touches_after_every_clue() -> None:
    episode, touched = Episode(Codenames(num_players=6), 1), []
    while not episode.over and len(episode.state.clues) < 8:
        (seat,) = episode.to_act
        state = episode.state
        if not state.guessing:
            episode.act({seat: Clue("zzz", 1)})
        elif episode.game.advising(state):
            episode.act({seat: Say("Go on.")})
        else:
            touched.append(seat)
            bystander = [*state.left(BYSTANDER), *state.left(1 - state.team)][0]
            episode.act({seat: Guess(episode.game.names(state, [bystander])[0])})
    for team in range(2):
        mine = [seat for seat in touched if seat // 3 == team]
        assert all(a != b for a, b in itertools.pairwise(mine))


@pytest.mark.parametrize("players", [6, 12])
def test_associates_win_in_larger_teams_too(players: int) -> None:
    agents = ["word-associate"] * (players // 2) + ["random"] * (players // 2)
    records = palestra.play(ENV, agents=agents, episodes=15, seed=0, num_players=players)
    assert sum(record.returns[0] > 0 for record in records) >= 14
    assert all(sum(record.returns) == 0 for record in records)


@pytest.mark.parametrize("players", [2, 5, 14])
def test_teams_are_of_one_size(players: int) -> None:
    with pytest.raises(InvalidOption, match=r"integer from 4 to 12 divisible by 2"):
        Codenames(num_players=players)


# Scripted players


def test_associates_nearly_always_beat_chance_and_end_soon() -> None:
    agents = ["word-associate"] * 2 + ["random"] * 2
    records = palestra.play(ENV, agents=agents, episodes=40, seed=0)
    assert sum(record.returns[0] > 0 for record in records) >= 38
    alone = palestra.play(ENV, agents=["word-associate"] * 4, episodes=40, seed=0)
    met = sum("assassin" in record.outcome.reason for record in alone)
    assert met == 0
    clues = [sum(event.kind == "clue" for event in record.events) for record in alone]
    assert sum(clues) / len(clues) < 15  # 17 words, one a clue, would be 17


def test_what_is_shipped_is_ours_and_sound() -> None:
    table = english()
    words, hints = words_of(table), [hint for hint, _ in table]
    assert len(words) > 200
    assert len(set(hints)) == len(hints)
    assert not set(hints) & set(words)
    counts = Counter(word for _, fits in table for word in fits)
    assert min(counts.values()) >= 2
    assert all(len(set(fits)) == len(fits) for _, fits in table)


@pytest.mark.parametrize(
    "table", [(("ocean", ("whale",)),), (("Ocean", ("whale",)),), (("a b", ("whale",)),)]
)
def test_bad_tables_say_what_is_accepted(table: Any) -> None:
    with pytest.raises(InvalidOption, match="25 words or more"):
        Codenames(associations=table)


def test_a_picture_has_the_teams_own_colours_and_shows_operatives_only_covered_words() -> None:
    episode = begun(3)
    episode.act({episode.to_act[0]: word(episode, BYSTANDER)})
    state = episode.state
    for seat in (None, 0, 1):  # a spectator, a spymaster, an operative
        grid = episode.scene(seat).grid
        assert isinstance(grid, Grid)
        for place, owner in enumerate(state.key):
            ground = grid.ground[place // 5][place % 5]
            if seat == 1 and not state.covered[place]:
                assert ground == ""
            elif owner < BYSTANDER:
                assert ground == ("red", "blue")[owner]
    assert sum(map(bool, state.covered)) == 1


@pytest.mark.parametrize("operatives", [1, 2, 3])
@pytest.mark.parametrize("viewer", [None, 0, 1])
def test_the_picture_says_who_is_in_which_team(operatives: int, viewer: int | None) -> None:
    game = palestra.game("games/Codenames-v0", num_players=2 + 2 * operatives)
    episode = Episode(game, 0, compiled=False)
    scene = episode.scene(viewer)
    (table,) = [part for part in scene.all_parts() if isinstance(part, Table)]
    assert [row[1] for row in table.rows] == list(game.players)
    for seat, (row, colour) in enumerate(zip(table.rows, table.colours, strict=True)):
        opening = game.describe(episode.state, seat)
        assert f"the {row[0]} {row[2]}" in opening
        assert colour == row[0]
        assert (row[3] == "to act") == (seat in episode.to_act)
