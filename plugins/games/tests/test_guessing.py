"""Twenty Questions and Guess My City: expected questions in closed form, tables, hidden things."""

from __future__ import annotations

from functools import cache
from math import floor, log2
from typing import Any

import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn
from palestra_games.words.guessing.game import (
    Ask,
    Guess,
    Guessing,
    GuessMyCity,
    Halving,
    TwentyQuestions,
)


def thresholds(count: int) -> Guessing:
    """Numbers, and whether the number is below each other number."""
    names = [str(n) for n in range(count)]
    pairs = tuple((f"Below {n}?", tuple(names[:n])) for n in range(1, count + 1))
    return TwentyQuestions(table=pairs, turns=100)


def paid(game: Guessing, secret: int) -> float:
    episode, agent = Episode(game, 0), Halving()
    state = episode.state
    state.secret = secret
    episode.load(state)
    while not episode.over:
        episode.act({0: agent.act([Turn(episode, 0)])[0].action})
    assert episode.outcome.results == ("win",)
    return -episode.returns[0]


@cache
def fewest(count: int) -> int:
    """Total cost over `count` numbers of the best play: ask for a part of them, or name one."""
    if count == 1:
        return 0
    asking = min(count + fewest(part) + fewest(count - part) for part in range(1, count))
    return min(asking, count - 1 + fewest(count - 1))


@pytest.mark.parametrize("count", [2, 4, 8, 16, 32])
def test_halving_costs_what_the_best_play_costs(count: int) -> None:
    """Naming one of two costs 1/2 on average, asking first costs 1: log2(n) - 1/2 in all."""
    game = thresholds(count)
    total = sum(paid(game, secret) for secret in range(count))
    assert total == fewest(count)
    assert total / count == log2(count) - 1 / 2


@pytest.mark.parametrize("count", [3, 5, 7, 11, 24])
def test_halving_is_never_worse_than_huffmans_code(count: int) -> None:
    game = thresholds(count)
    whole = floor(log2(count))
    huffman = whole + 2 * (count - 2**whole) / count
    mean = sum(paid(game, secret) for secret in range(count)) / count
    assert fewest(count) / count <= mean <= huffman


@pytest.mark.parametrize("game", [TwentyQuestions(), GuessMyCity()])
def test_everything_can_be_told_apart_and_found(game: Guessing) -> None:
    columns = {tuple(column) for column in game.holds.T.tolist()}
    assert len(columns) == len(game.names) >= 50
    costs = [paid(game, secret) for secret in range(len(game.names))]
    assert fewest(len(game.names)) <= sum(costs)
    assert max(costs) < 12


def test_cities_have_one_continent_at_most() -> None:
    game = GuessMyCity()
    facts = dict(game.facts)
    continents = game.questions[:5]
    for name in game.names:
        assert sum(name in facts[q] for q in continents) <= 1


# The rules


def test_every_turn_costs_1_but_the_last_that_finds_it() -> None:
    game = TwentyQuestions()
    episode = Episode(game, 0)
    state = episode.state
    state.secret = game.names.index("whale")
    episode.load(state)
    episode.act({0: episode.parse(0, "Ask(question='Is it an animal?')")})
    assert "Is it an animal? yes" in episode.describe(0)
    episode.act({0: Guess("shark")})
    assert "It is not: shark." in episode.describe(0)
    episode.act({0: Guess("whale")})
    assert episode.over
    assert episode.returns[0] == -2


def test_turns_run_out_and_the_thing_is_told() -> None:
    game = GuessMyCity(turns=2)
    episode = Episode(game, 3)
    for _ in range(2):
        episode.act({0: Ask("Is it in Asia?")})
    assert episode.outcome.results == ("loss",)
    assert game.names[episode.state.secret] in episode.log[-1][-1].text
    assert episode.returns[0] == -2


def test_redrawn_secrets_fit_the_answers() -> None:
    game = GuessMyCity()
    episode = Episode(game, 1)
    episode.act({0: Ask("Is it in Asia?")})
    episode.act({0: Ask("Is it by the sea or an ocean?")})
    state, rows = episode.state, [1, 6]
    drawn = {game.determinize(state, 0, Rng(n)).secret for n in range(300)}
    same = {
        n
        for n in range(len(game.names))
        if all(game.holds[r, n] == game.holds[r, state.secret] for r in rows)
    }
    assert drawn == same


def test_only_listed_questions_are_answered() -> None:
    episode = Episode(TwentyQuestions(), 0)
    with pytest.raises(InvalidAction):
        episode.parse(0, "Ask(question='What is it?')")


@pytest.mark.parametrize(
    "options",
    [{"turns": 0}, {"table": (("Red?", ()),)}, {"table": (("Red?", ("a",)), ("Red?", ("b",)))}],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=next(iter(options))):
        TwentyQuestions(**options)
