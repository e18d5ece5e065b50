"""Sudoku: the number of complete squares, unique puzzles, the rules."""

from __future__ import annotations

from itertools import islice, permutations
from typing import Any

import numpy as np
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Turn, make_agent
from palestra_games.puzzles.sudoku.game import STOCK, Sudoku, is_stuck, note_digits
from palestra_games.puzzles.sudoku.solver import solutions

WIKIPEDIA = "530070000600195000098000060800060003400803001700020006060000280000419005000080079"
SOLVED = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"


def is_complete(grid: Any) -> bool:
    """Every row, column and box has each digit once."""
    side = len(grid)
    box, every = int(side**0.5), set(range(1, side + 1))
    lines = [*grid.tolist(), *grid.T.tolist()]
    for r in range(0, side, box):
        lines += [grid[r : r + box, c : c + box].ravel().tolist() for c in range(0, side, box)]
    return all(set(line) == every for line in lines)


def test_there_are_288_complete_squares_of_4x4() -> None:
    found = set(solutions([0] * 16))
    assert len(found) == 288
    rows = list(permutations(range(1, 5)))
    by_hand = sum(
        is_complete(np.array([a, b, c, d]))
        for a in rows
        for b in rows
        if not {(x, y) for x, y in zip(a, b, strict=True) if x == y}
        for c in rows
        for d in rows
    )
    assert by_hand == 288


def mask_of(game: Sudoku, state: Any) -> Any:
    """The legal digits of every cell, (side, side, side)."""
    note_digits(game.config, state)
    mask = np.zeros(game.side**3, np.uint8)
    Sudoku.write_legal_mask(game.config, state, 0, mask)
    return mask.reshape(game.side, game.side, game.side)


@pytest.mark.parametrize(("side", "share"), [(4, 0.2), (4, 0.6), (9, 0.1), (9, 0.4), (9, 0.8)])
def test_the_mask_and_being_stuck_are_what_sets_of_digits_say(side: int, share: float) -> None:
    game, rng = Sudoku(side=side), np.random.default_rng(side)  # type: ignore[arg-type]
    state, box, stuck = game.initial_state(0), int(side**0.5), 0
    for _ in range(6):
        state.grid[:] = rng.integers(1, side + 1, (side, side)) * (rng.random((side, side)) < share)
        mask, none_fits = mask_of(game, state), False
        for row, column in np.ndindex(side, side):
            top, left = row // box * box, column // box * box
            near = (
                state.grid[row],
                state.grid[:, column],
                state.grid[top : top + box, left : left + box],
            )
            free = set(range(1, side + 1)) - {int(d) for part in near for d in part.flat}
            empty = state.grid[row, column] == 0
            assert (mask[row, column].nonzero()[0] + 1).tolist() == sorted(free if empty else ())
            none_fits = none_fits or bool(empty and not free)
        assert is_stuck(game.config, state) == none_fits
        stuck += none_fits
    assert stuck or share < 0.8


def test_the_games_mask_leads_to_288_squares() -> None:
    game = Sudoku(side=4)
    state = game.initial_state(0)
    state.grid[:] = 0

    def count(cell: int) -> int:
        if cell == 16:
            return 1
        row, column = divmod(cell, 4)
        legal, total = mask_of(game, state)[row, column].tolist(), 0
        for digit in range(4):
            if legal[digit]:
                state.grid[row, column] = digit + 1
                total += count(cell + 1)
        state.grid[row, column] = 0
        return total

    assert count(0) == 288


def test_a_published_puzzle_has_its_published_solution() -> None:
    assert ["".join(map(str, found)) for found in solutions(list(map(int, WIKIPEDIA)))] == [SOLVED]


@pytest.mark.parametrize("text", [*STOCK[4], *STOCK[9]])
def test_stock_puzzles_have_one_solution(text: str) -> None:
    (found,) = solutions(list(map(int, text)))
    side = int(len(text) ** 0.5)
    assert is_complete(np.array(found).reshape(side, side))


@pytest.mark.parametrize(
    ("side", "givens", "seeds"), [(4, None, 40), (4, 0, 40), (9, None, 8), (9, 24, 3)]
)
def test_drawn_puzzles_have_one_solution_and_the_givens(
    side: int, givens: int | None, seeds: int
) -> None:
    game, drawn = Sudoku(side=side, givens=givens), set()
    for seed in range(seeds):
        state = game.initial_state(seed)
        cells = state.grid.ravel().tolist()
        found = list(islice(solutions(cells), 2))
        assert len(found) == 1
        assert sum(digit > 0 for digit in cells) >= game.fewest
        assert (state.given == (state.grid > 0)).all()
        assert state.left == cells.count(0)
        drawn.add(tuple(cells))
    assert len(drawn) > seeds * 0.8


@pytest.mark.parametrize("side", [4, 9])
def test_the_solver_is_paid_1(side: int) -> None:
    for seed in range(2):
        episode, agent = (
            Episode(Sudoku(side=side), seed, compiled=False),
            make_agent("sudoku-solver"),
        )
        while not episode.over:
            episode.act({0: agent.act([Turn(episode, 0)])[0].action})
        assert episode.returns[0] == 1
        assert is_complete(episode.state.grid.astype(int))


def test_the_mask_is_what_row_column_and_box_leave() -> None:
    game = Sudoku(puzzle=WIKIPEDIA)
    state = game.initial_state(0)
    grid = np.array(list(WIKIPEDIA), int).reshape(9, 9)
    assert (state.grid == grid).all()
    mask = game.legal(state, 0).reshape(9, 9, 9)
    for r in range(9):
        for c in range(9):
            box = grid[r // 3 * 3 : r // 3 * 3 + 3, c // 3 * 3 : c // 3 * 3 + 3]
            taken = {*grid[r].tolist(), *grid[:, c].tolist(), *box.ravel().tolist()}
            left = {d for d in range(1, 10) if d not in taken} if not grid[r, c] else set()
            assert {d + 1 for d in np.flatnonzero(mask[r, c]).tolist()} == left


def test_digits_are_written_as_told_and_stay() -> None:
    episode = Episode(Sudoku(puzzle=WIKIPEDIA), 0, compiled=False)
    episode.act({0: episode.parse(0, "Only a 4 fits.\nMove: c1=4")})
    assert episode.state.grid[0, 2] == 4
    assert "1 5 3 4 | . 7 . | . . ." in episode.describe(0)
    for text in ("c1=1", "d1=5", "a1=5"):
        with pytest.raises(InvalidAction):
            episode.parse(0, text)


def test_a_cell_without_digits_loses() -> None:
    """4x4: a1 may look like 1 or 2; the wrong one leaves nothing for another cell."""
    for seed in range(20):
        episode = Episode(Sudoku(side=4), seed, compiled=False)
        (solved,) = solutions(episode.state.grid.ravel().tolist())
        while not episode.over:
            wrong = [a for a in episode.legal_actions(0) if solved[a // 4] != a % 4 + 1]
            episode.act({0: (wrong or episode.legal_actions(0))[0]})
        if (episode.state.grid == 0).any():
            assert episode.outcome is not None
            assert episode.outcome.results == ("loss",)
            assert episode.returns[0] == 0
            return
    raise AssertionError("no wrong digit was ever possible")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"side": 6}, "side must be 4 or 9"),
        ({"givens": 81}, "givens must be an integer.* from 0 to 80"),
        ({"side": 4, "givens": 16}, "givens must be from 0 to 15"),
        ({"puzzle": "12"}, "16 or 81 digits"),
        ({"puzzle": "0" * 16}, "exactly one solution"),
        ({"puzzle": "11" + "0" * 14}, "exactly one solution"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Sudoku(**options)
