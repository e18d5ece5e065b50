"""Logic grids: the zebra's published answer, one solution and no clue to spare by listing all."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import pytest
from palestra import Episode, InvalidOption, Rng, play
from palestra_games.puzzles.logic_grid.game import Clear, LogicGrid, Put, make_puzzle
from palestra_games.puzzles.logic_grid.solver import (
    APART,
    HERE,
    JUST_LEFT,
    LEFT,
    NEXT,
    SAME,
    Clue,
    solutions,
)

ZEBRA = (
    ("Englishman", "Spaniard", "Ukrainian", "Norwegian", "Japanese"),
    ("red", "green", "ivory", "yellow", "blue"),
    ("dog", "snails", "fox", "horse", "zebra"),
    ("coffee", "tea", "milk", "juice", "water"),
    ("Old Gold", "Kools", "Chesterfields", "Lucky Strike", "Parliaments"),
)
NUMBER = {value: n for n, value in enumerate(v for values in ZEBRA for v in values)}


def test_the_zebra_is_the_japanese_mans_and_the_norwegian_drinks_water() -> None:
    """Life International, 17 December 1962; answer of 25 March 1963."""
    same = (
        *(("Englishman", "red"), ("Spaniard", "dog"), ("coffee", "green"), ("Ukrainian", "tea")),
        *(("Old Gold", "snails"), ("Kools", "yellow"), ("Lucky Strike", "juice")),
        ("Japanese", "Parliaments"),
    )
    clues = [Clue(SAME, NUMBER[a], NUMBER[b]) for a, b in same]
    beside = (("Chesterfields", "fox"), ("Kools", "horse"), ("Norwegian", "blue"))
    clues += [Clue(NEXT, NUMBER[a], NUMBER[b]) for a, b in beside]
    clues += [Clue(JUST_LEFT, NUMBER["ivory"], NUMBER["green"])]
    clues += [Clue(HERE, NUMBER["milk"], 2), Clue(HERE, NUMBER["Norwegian"], 0)]
    (solution,) = solutions(clues, 5, 5, limit=10)
    at = {value: solution[n] for value, n in NUMBER.items()}
    assert at["zebra"] == at["Japanese"] == 4
    assert at["water"] == at["Norwegian"] == 0
    assert [at[colour] for colour in ("yellow", "blue", "red", "ivory", "green")] == list(range(5))


def fits(clue: Clue, at: tuple[int, ...]) -> bool:
    kind, one, other = clue
    if kind == HERE:
        return at[one] == other
    return {
        SAME: at[one] == at[other],
        APART: at[one] != at[other],
        NEXT: at[one] - at[other] in (-1, 1),
        JUST_LEFT: at[other] - at[one] == 1,
        LEFT: at[other] > at[one],
    }[kind]


def listed(clues: list[Clue], houses: int, attributes: int) -> set[tuple[int, ...]]:
    """Every arrangement that fits, out of all there are."""
    orders = list(permutations(range(houses)))
    every = (sum(parts, ()) for parts in product(orders, repeat=attributes))
    return {at for at in every if all(fits(clue, at) for clue in clues)}


@pytest.mark.parametrize(("houses", "attributes"), [(2, 1), (3, 1), (2, 4), (3, 3), (4, 2)])
@pytest.mark.parametrize("seed", range(5))
def test_puzzles_have_one_solution_and_no_clue_to_spare(
    houses: int, attributes: int, seed: int
) -> None:
    solution, clues = make_puzzle(seed, houses, attributes)
    assert listed(list(clues), houses, attributes) == {solution}
    for clue in clues:
        rest = [other for other in clues if other != clue]
        assert len(listed(rest, houses, attributes)) > 1


@pytest.mark.parametrize("seed", range(40))
def test_the_solver_lists_exactly_the_arrangements_that_fit(seed: int) -> None:
    rng, houses, attributes = Rng(seed), 3, 3
    clues = []
    for _ in range(seed % 6):
        kind, one = rng.below(6), rng.below(9)
        clues.append(
            Clue(kind, one, rng.below(3) if kind == HERE else (one + 1 + rng.below(8)) % 9)
        )
    found = solutions(clues, houses, attributes, limit=1000)
    assert len(found) == len(set(found))
    assert set(found) == listed(clues, houses, attributes)


@pytest.mark.parametrize(("houses", "attributes"), [(4, 3), (5, 5), (6, 6)])
def test_the_solver_is_paid_in_full_with_no_move_too_many(houses: int, attributes: int) -> None:
    options = {"houses": houses, "attributes": attributes}
    for record in play("games/LogicGrid-v0", agents=["logic-grid-solver"], episodes=3, **options):
        assert record.outcome.scores == (1.0,)
        assert len(record.steps) == houses * attributes


def test_random_notes_are_right_about_once_in_as_many_houses() -> None:
    episode, rng, notes = Episode(LogicGrid(), 0), Rng(1), []
    for seed in range(200):
        state = episode.game.initial_state(seed)
        state.noted = [rng.below(4) for _ in state.noted]
        notes.append(episode.game.share(state))
    assert 0.2 < sum(notes) / 200 < 0.3


def test_a_note_moves_out_what_was_there_and_can_be_taken_back() -> None:
    episode = Episode(LogicGrid(houses=3, attributes=2), 0)
    for action in (Put("Ada", 1), Put("Ben", 1), Put("red", 1)):
        episode.act({0: action})
    assert "House 1: Ben, red." in episode.describe(0)
    episode.act({0: Clear("red")})
    assert "House 1: Ben." in episode.describe(0)
    assert Clear("red") not in episode.legal(0)


def test_what_is_not_noted_in_time_is_not_paid() -> None:
    episode = Episode(LogicGrid(houses=2, attributes=1, max_moves=2), 0)
    for _ in range(2):
        episode.act({0: Put("Ada", episode.state.solution[0] + 1)})
    assert episode.outcome is not None
    assert episode.outcome.results == ("truncated",)
    assert list(episode.returns) == [0.5]


@pytest.mark.parametrize("options", [{"houses": 1}, {"attributes": 7}, {"max_moves": 3}])
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match=f"{next(iter(options))} must be (a.* )?from"):
        LogicGrid(**options)
