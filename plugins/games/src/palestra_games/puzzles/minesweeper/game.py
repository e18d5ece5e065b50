"""Minesweeper: open every cell that hides no mine, told how many of its neighbours do.

Mines are hidden under some cells of a rectangle. Opening a mine loses. Any other cell shows the
number of mines among its eight neighbours; with none, all its neighbours are opened too, and so
on. All cells without mines open: won. Under the first cell opened there is, by default, no mine.
The tests compare all counts with a numpy convolution, the odds of the reference player with the
enumeration of every placement, and its chance to win tiny boards with an exact recursion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    Bar,
    Event,
    Grid,
    InvalidOption,
    Outcome,
    Piece,
    Rng,
    Scene,
    environment,
)
from palestra.rules import LOSS, WIN, finish, mover, shuffle, turn_to

from palestra_games.puzzles.minesweeper.odds import Seen, place_mines

CLOSED = 9  # in the array view; 0 to 8 are counts, 10 a mine that was opened
MINE = 10
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@environment(
    "games/Minesweeper-v0",
    family="grid",
    tags=("hidden-information", "deterministic"),
)
@dataclass(frozen=True)
class Minesweeper(ArrayGame):
    """You open the cells of a minefield one by one, without opening a mine.

    Every turn write the cell to open, column letter and row number, such as "c4"; the columns run
    from a at the left, the rows from 1 at the top. A mine ends the game, and you are paid
    0. Another cell shows how many of its eight neighbours are mines; where that is 0, all its
    neighbours are opened for you. When every cell without a mine is open you have won and are
    paid 1. In the map # is a closed cell, a number the count of mines around it, * a mine.
    """

    rows: int = 8
    columns: int = 8
    mines: int = 10
    safe_first: bool = True

    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    reward_terms = ("solved",)
    payoff_bounds = (0.0, 1.0)
    observation_bounds = (0, MINE)

    def __post_init__(self) -> None:
        for name, side, most in (("rows", self.rows, 30), ("columns", self.columns, 26)):
            if not 1 <= side <= most:
                raise InvalidOption(f"{name} must be from 1 to {most}, not {side}")
        most = self.rows * self.columns - 1
        if not 1 <= self.mines <= most:
            raise InvalidOption(f"mines must be from 1 to {most} on this board, not {self.mines}")

    @property
    def num_actions(self) -> int:
        return self.rows * self.columns

    @property
    def observation_shape(self) -> tuple[int, int]:
        return (self.rows, self.columns)

    def fields(self) -> list[tuple[Any, ...]]:
        """`order` lists the cells, mines first; one more is there to take the first cell's place.

        Cells are numbered row by row; `mine` and `open` are flags, `left` counts closed cells
        without a mine.
        """
        cells = self.rows * self.columns
        return [
            ("order", np.int16, cells),
            ("mine", np.uint8, (self.rows, self.columns)),
            ("open", np.uint8, (self.rows, self.columns)),
            ("left", np.int32),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        cells = config.rows * config.columns
        for cell in range(cells):
            state.order[cell] = cell
        shuffle(state, state.order)
        for number in range(config.mines):
            cell = state.order[number]
            state.mine[cell // config.columns, cell % config.columns] = 1
        state.left = cells - config.mines
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        row, column = actions[0] // config.columns, actions[0] % config.columns
        if config.safe_first and state.turn == 0 and state.mine[row, column]:
            spare = state.order[config.mines]
            state.mine[row, column] = 0
            state.mine[spare // config.columns, spare % config.columns] = 1
        if state.mine[row, column]:
            state.open[row, column] = 1
            state.result[0] = LOSS
            finish(state)
            return
        open_cell(config, state, row, column)
        if state.left == 0:
            out.rewards[0, 0] = 1.0
            state.result[0] = WIN
            finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for cell in range(config.rows * config.columns):
            mask[cell] = state.open[cell // config.columns, cell % config.columns] == 0

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """Counts of open cells, 9 for a closed cell, 10 for a mine that was opened."""
        for row in range(config.rows):
            for column in range(config.columns):
                if state.open[row, column] == 0:
                    view[row, column] = CLOSED
                elif state.mine[row, column]:
                    view[row, column] = MINE
                else:
                    view[row, column] = mines_around(config, state, row, column)

    def observe(self, state: Any, seat: int) -> NDArray[Any]:
        """What `write_observation` writes, with whole arrays: quicker where nothing is compiled."""
        mine, rows, columns = np.pad(state["mine"], 1), self.rows, self.columns
        around = sum(mine[r : r + rows, c : c + columns] for r in range(3) for c in range(3))
        shown = np.where(state["mine"], MINE, around)
        view: NDArray[Any] = np.where(state["open"], shown, CLOSED).astype(self.observation_dtype)
        return view

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        won = ended.results[0] == "win"
        reason = "every safe cell is open" if won else "a mine was opened"
        return Outcome(ended.results, (float(won),), reason)

    # States

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Draw the mines evenly from all placements that fit the open cells' counts."""
        copy = self.clone(state)
        if mover(state) < 0:
            return copy
        mines = place_mines(self.seen(state), rng)
        copy.mine[:] = 0
        for cell in mines:
            copy.mine[divmod(cell, self.columns)] = 1
        rest = [cell for cell in range(self.num_actions) if cell not in mines]
        rng.shuffle(rest)
        copy.order[:] = [*mines, *rest]
        return copy

    def seen(self, state: Any) -> Seen:
        return Seen(self.observe(state, 0).tolist(), self.mines)

    # What the player sees

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(
            f"{LETTERS[column]}{row + 1}"
            for row in range(self.rows)
            for column in range(self.columns)
        )

    def rules_for(self, seat: int) -> str:
        first = "\nThe first cell that you open is safe." if self.safe_first else ""
        place = f"{self.rows} rows and {self.columns} columns hide {self.mines} mines."
        return f"{super().rules_for(seat)}\n{place}{first}"

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return []
        name, view = self._names[actions[0]], self.observe(after, 0)
        row, column = divmod(actions[0], self.columns)
        opened = int(after.open.sum()) - int(before.open.sum())
        shown = int(view[row, column])
        found = "a mine" if shown == MINE else f"{shown} around it"
        more = f"; {opened} cells are opened" if opened > 1 else ""
        data = {"cell": actions[0], "view": view.tolist()}
        return [Event("reveal", f"You open {name}: {found}{more}.", data)]

    def describe(self, state: Any, seat: int) -> str:
        width = len(str(self.rows))
        lines = [" " * width + " " + " ".join(LETTERS[: self.columns])]
        for number, row in enumerate(self.observe(state, seat).tolist(), 1):
            lines.append(f"{number:>{width}} {' '.join(mark(code) for code in row)}")
        return "\n".join([*lines, f"Mines: {self.mines}. Safe cells still closed: {state.left}."])

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return self._names[action]

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        rows = []
        for r, row in enumerate(self.observe(state, 0).tolist()):
            hidden = [seat is None and bool(mine) for mine in state.mine[r].tolist()]
            rows.append(tuple(look(c, h) for c, h in zip(row, hidden, strict=True)))
        labels = tuple(LETTERS[: self.columns])
        grid = Grid(tuple(rows), tuple(str(r + 1) for r in range(self.rows)), labels)
        safe = self.num_actions - self.mines
        return Scene(grid=grid, bars=(Bar("open", float(safe - state.left), float(safe), 2),))


def mark(code: int) -> str:
    return "#" if code == CLOSED else "*" if code == MINE else str(code)


def look(code: int, hidden_mine: bool) -> Piece | None:
    if code == MINE or hidden_mine:
        return Piece("*", 0, "tile", "mine")
    if code == CLOSED:
        return Piece("#", -1, "square", "closed")
    return Piece(str(code), code % 8, "mark", f"{code} around") if code else None


def mines_around(config: Any, state: Any, row: int, column: int) -> int:
    """Mines among the neighbours of a cell."""
    count = 0
    for r in range(max(row - 1, 0), min(row + 2, config.rows)):
        for c in range(max(column - 1, 0), min(column + 2, config.columns)):
            count += state.mine[r, c]
    return int(count - state.mine[row, column])


def open_cell(config: Any, state: Any, row: int, column: int) -> None:
    """Open a cell, and around every open cell without mines around it, until nothing changes."""
    state.open[row, column] = 1
    state.left -= 1
    spread = mines_around(config, state, row, column) == 0
    while spread:
        spread = False
        for r in range(config.rows):
            for c in range(config.columns):
                if not state.open[r, c] and beside_clear(config, state, r, c):
                    state.open[r, c] = 1
                    state.left -= 1
                    spread = True


def beside_clear(config: Any, state: Any, row: int, column: int) -> bool:
    """Whether a neighbour of a cell is open and has no mine around it."""
    for r in range(max(row - 1, 0), min(row + 2, config.rows)):
        for c in range(max(column - 1, 0), min(column + 2, config.columns)):
            if state.open[r, c] and mines_around(config, state, r, c) == 0:
                return True
    return False
