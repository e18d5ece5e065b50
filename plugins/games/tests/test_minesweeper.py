"""Minesweeper: counts against a convolution, odds and chances of winning by enumeration."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent
from palestra_games.puzzles.minesweeper.game import Minesweeper
from palestra_games.puzzles.minesweeper.odds import (
    CLOSED,
    MINE,
    VisibleBoard,
    odds,
    place_mines,
    placements,
)
from scipy.ndimage import label
from scipy.signal import convolve2d


def laid(game: Minesweeper, mines: tuple[int, ...]) -> Episode:
    """An episode whose mines lie in these cells; the first cell opened is not made safe."""
    episode = Episode(game, 0, compiled=False)
    state = episode.state
    state.mine[:] = 0
    for cell in mines:
        state.mine[divmod(cell, game.columns)] = 1
    episode.load(state)
    return episode


def counts(mine: Any) -> Any:
    kernel = np.ones((3, 3), int)
    kernel[1, 1] = 0
    return convolve2d(mine.astype(int), kernel, mode="same")


# The rules


@pytest.mark.parametrize(("rows", "columns", "mines"), [(8, 8, 10), (5, 9, 7), (1, 6, 2)])
def test_counts_and_openings_are_numpys(rows: int, columns: int, mines: int) -> None:
    game = Minesweeper(rows, columns, mines)
    for seed in range(12):
        episode, rng = Episode(game, seed, compiled=False), Rng(seed)
        while not episode.over:
            before = episode.state.open.copy()
            (cell,) = (rng.choice(episode.legal_actions(0)),)
            episode.act({0: cell})
            state = episode.state
            seen, around = episode.observation(0), counts(state.mine)
            safe = (state.open == 1) & (state.mine == 0)
            assert (seen[safe] == around[safe]).all()
            assert (seen[state.open == 0] == CLOSED).all()
            assert state.mine.sum() == mines
            assert expected(before, state.mine, around, divmod(cell, columns)) == {
                tuple(place) for place in np.argwhere(state.open != before).tolist()
            }


def expected(before: Any, mine: Any, around: Any, place: tuple[int, int]) -> set[Any]:
    """Cells that opening one opens: itself, or its whole region of zeros with its border."""
    if mine[place] or around[place]:
        return {place}
    regions, _ = label((around == 0) & (mine == 0), structure=np.ones((3, 3)))
    region = regions == regions[place]
    grown = convolve2d(region.astype(int), np.ones((3, 3), int), mode="same") > 0
    return {tuple(cell) for cell in np.argwhere(grown & (before == 0)).tolist()}


def test_the_first_cell_is_safe_and_mines_elsewhere_stay_even() -> None:
    game, spread = Minesweeper(2, 2, 1), np.zeros(4, int)
    for seed in range(900):
        episode = Episode(game, seed, compiled=False)
        episode.act({0: 0})
        spread += episode.state.mine.ravel()
    assert spread[0] == 0
    assert all(abs(count - 300) < 70 for count in spread[1:])
    unsafe = Minesweeper(2, 2, 1, safe_first=False)
    lost = sum(bool(unsafe.initial_state(seed).mine[0, 0]) for seed in range(400))
    assert 60 < lost < 140


def test_a_mine_loses_and_the_last_safe_cell_wins() -> None:
    game = Minesweeper(1, 3, 1, safe_first=False)
    lost = laid(game, (1,))
    lost.act({0: 1})
    assert (lost.returns[0], lost.outcome.results) == (0, ("loss",))
    assert lost.observation(0)[0, 1] == MINE
    won = laid(game, (1,))
    won.act({0: 0})
    with pytest.raises(InvalidAction):
        won.act({0: 0})
    won.act({0: won.parse(0, "The rest is safe.\nMove: c1")})
    assert (won.returns[0], won.outcome.results) == (1, ("win",))


# Odds


def view(rows: int, columns: int, mines: set[int], opened: set[int]) -> list[list[int]]:
    mine = np.isin(np.arange(rows * columns), list(mines)).reshape(rows, columns)
    shown = counts(mine)
    return [
        [int(shown[r, c]) if r * columns + c in opened else CLOSED for c in range(columns)]
        for r in range(rows)
    ]


def fitting(seen: VisibleBoard) -> list[set[int]]:
    """Every placement that shows the same."""
    rows, columns = len(seen.rows), len(seen.rows[0])
    closed = [cell for cell, code in enumerate(seen.flat) if code == CLOSED]
    opened = set(range(rows * columns)) - set(closed)
    placed = (set(mines) for mines in combinations(closed, seen.mines))
    return [mines for mines in placed if view(rows, columns, mines, opened) == seen.rows]


def positions() -> list[VisibleBoard]:
    found = []
    for seed in range(30):
        rng = Rng(seed)
        rows, columns = rng.between(2, 4), rng.between(2, 4)
        mines = rng.between(1, min(5, rows * columns - 2))
        order = list(range(rows * columns))
        rng.shuffle(order)
        opened = set(order[mines : mines + rng.between(1, 4)])
        found.append(VisibleBoard(view(rows, columns, set(order[:mines]), opened), mines))
    return found


@pytest.mark.parametrize("seen", positions())
def test_odds_are_those_of_the_enumeration(seen: VisibleBoard) -> None:
    every = fitting(seen)
    assert placements(seen) == len(every)
    for cell, chance in odds(seen).items():
        assert chance == pytest.approx(sum(cell in mines for mines in every) / len(every))


def test_redrawn_mines_are_even_over_all_that_fit() -> None:
    seen = VisibleBoard([[CLOSED, 1, CLOSED, CLOSED], [CLOSED, 2, CLOSED, CLOSED], [CLOSED] * 4], 3)
    every = fitting(seen)
    drawn = [tuple(place_mines(seen, Rng(n))) for n in range(2_000)]
    assert {frozenset(mines) for mines in drawn} == {frozenset(mines) for mines in every}
    share, margin = 2_000 / len(every), 5 * sqrt(2_000 / len(every))
    assert all(abs(drawn.count(tuple(sorted(m))) - share) < margin for m in every)


# The chance to win


def best_chance(rows: int, columns: int, mines: int) -> float:
    """Of a perfect player whose first cell is safe: the best of all first cells."""
    cells = range(rows * columns)

    def opening(mine: frozenset[int], opened: frozenset[int], cell: int) -> frozenset[int]:
        shown = view(rows, columns, set(mine), set(cells))
        todo, found = [cell], set(opened)
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                if shown[at // columns][at % columns] == 0:
                    todo += VisibleBoard(shown, mines).around(at)
        return frozenset(found)

    @cache
    def value(worlds: frozenset[frozenset[int]], opened: frozenset[int]) -> int:
        """Worlds of these that are won, from here on, by the best play."""
        if len(opened) == len(cells) - mines:
            return len(worlds)
        return max(won(worlds, opened, cell) for cell in set(cells) - opened)

    def won(worlds: Any, opened: frozenset[int], cell: int) -> int:
        told: dict[Any, set[frozenset[int]]] = {}
        for mine in worlds:
            if cell not in mine:
                now = opening(mine, opened, cell)
                key = (now, tuple(map(tuple, view(rows, columns, set(mine), set(now)))))
                told.setdefault(key, set()).add(mine)
        return sum(value(frozenset(same), now) for (now, _), same in told.items())

    worlds = [frozenset(m) for m in combinations(cells, mines)]
    chances = []
    for first in cells:
        safe = frozenset(m for m in worlds if first not in m)
        chances.append(won(safe, frozenset(), first) / len(safe))
    return max(chances)


@pytest.mark.parametrize(
    ("rows", "columns", "mines", "chance"),
    [(1, 2, 1, 1), (2, 2, 1, 1 / 3), (2, 2, 3, 1), (1, 4, 1, 1), (2, 3, 1, 3 / 5)],
)
def test_known_chances(rows: int, columns: int, mines: int, chance: float) -> None:
    """By hand: after a 1 in a corner of 2x2 the three other cells are alike, and so on."""
    assert best_chance(rows, columns, mines) == pytest.approx(chance)


@pytest.mark.parametrize(
    ("rows", "columns", "mines", "chance"), [(2, 2, 1, 1 / 3), (2, 3, 2, 1 / 2), (3, 3, 1, 1)]
)
def test_the_odds_player_wins_these_as_often_as_perfect_play(
    rows: int, columns: int, mines: int, chance: float
) -> None:
    """Its first cell is a corner; every placement of the mines elsewhere is played once."""
    game, agent = (
        Minesweeper(rows, columns, mines, safe_first=False),
        make_agent("minesweeper-odds"),
    )
    won = 0
    for placed in combinations(range(1, rows * columns), mines):
        episode = laid(game, placed)
        episode.act({0: 0})
        while not episode.over:
            episode.act({0: agent.act([Turn(episode, 0)])[0].action})
        won += episode.returns[0] == 1
    assert best_chance(rows, columns, mines) == pytest.approx(chance)
    assert won / comb(rows * columns - 1, mines) == pytest.approx(chance)


@pytest.mark.parametrize(
    ("options", "said"),
    [({"rows": 0}, "rows must be"), ({"columns": 27}, "columns"), ({"mines": 64}, "1 to 63")],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Minesweeper(**options)


@pytest.mark.parametrize("seed", range(5))
def test_what_is_observed_is_what_compiled_rules_sense(seed: int) -> None:
    game, rng = Minesweeper(rows=5, columns=7, mines=6), Rng(seed)
    episode = Episode(game, seed, compiled=False)
    while True:
        sensed = np.zeros(game.observation_shape, game.observation_dtype)
        game.write_observation(game.config, episode.state, 0, sensed)
        seen = game.observe(episode.state, 0)
        assert (seen.dtype, seen.tolist()) == (sensed.dtype, sensed.tolist())
        if episode.over:
            break
        episode.act({0: rng.choice(episode.legal_actions(0))})


@pytest.mark.parametrize("seat", [None, 0])
def test_what_nobody_opened_looks_closed(seat: int | None) -> None:
    episode, rng = Episode(Minesweeper(), 2, compiled=False), Rng(2)
    while not episode.over:
        state, grid = episode.state, episode.scene(seat).grid
        assert grid is not None
        for place, closed in np.ndenumerate(state.open == 0):
            piece = grid.cells[place[0]][place[1]]
            looks_closed = piece is not None and piece.sprite == "closed"
            assert looks_closed == closed
            flagged = piece is not None and piece.badge == "flag"
            assert flagged == (seat is None and closed and bool(state.mine[place]))
        episode.act({0: rng.choice(episode.legal_actions(0))})
