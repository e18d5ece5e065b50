"""Minesweeper: open every cell that hides no mine; open cells show how many neighbours do.

Mines are hidden under some cells of a rectangle. Opening a mine loses. Any other cell shows the
number of mines among its eight neighbours; with none, all its neighbours are opened too, and so
on. Opening all cells without a mine wins. By default there is no mine under the first cell opened.
The tests compare all counts with a numpy convolution, the odds of the reference player with the
enumeration of every placement, and its chance to win tiny boards with an exact recursion.

Checked: counts against a convolution; odds and the chance of winning small boards by enumeration of
all layouts.

Left out: flags and opening by chords, which tell the player nothing new.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Bar,
    Channel,
    Event,
    Grid,
    InvalidOption,
    Meta,
    Outcome,
    Piece,
    Rng,
    Scene,
    Shape,
    Vocabulary,
    environment,
)
from palestra.rules import LOSS, WIN, finish, shuffle, turn_to

from palestra_games.puzzles.minesweeper.odds import CLOSED, MINE, VisibleBoard, place_mines

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class MinesweeperState(ArrayState):
    """A minefield; cells are numbered row by row."""

    order: Annotated[NDArray[np.int16], Shape("num_actions")]  # cells: mines, a spare one, the rest
    mine: Annotated[NDArray[np.uint8], Shape("rows", "columns")]  # 1 for a mine
    open: Annotated[NDArray[np.uint8], Shape("rows", "columns")]  # 1 once opened
    around: Annotated[NDArray[np.uint8], Shape("rows", "columns")]  # mines beside an open cell
    left: Annotated[int, np.int32]  # closed cells without a mine


@environment(
    "games/Minesweeper-v0",
    family="grid",
    tags=("hidden-information", "deterministic"),
)
@dataclass(frozen=True)
class Minesweeper(ArrayGame[MinesweeperState]):
    """Minesweeper: open every cell that hides no mine.

    An action is the number of a closed cell, row by row. An observation holds one code a cell by
    row and column: 0 to 8 for an open cell with that many mines around it, 9 for a closed cell, 10
    for a mine that was opened. Opening all safe cells pays 1; a mine ends the game and pays
    nothing.
    """

    rows: Annotated[int, Meta(ge=1, le=30, description="rows of the board")] = 8
    columns: Annotated[int, Meta(ge=1, le=26, description="columns of the board")] = 8
    mines: Annotated[int, Meta(ge=1, le=779, description="cells that hide a mine")] = 10
    safe_first: Annotated[
        bool, Meta(description="whether a mine under the first cell opened is moved elsewhere")
    ] = True

    vocabulary = Vocabulary(
        words=("minefield", "mine"),
        signs="#*",
        cells=True,
        instead={
            "; the columns run from a at the left, the rows from 1 at the top.": (
                "; both stand beside the map."
            )
        },
    )
    rules_text = """
        You open the cells of a minefield one by one, without opening a mine.

        Every turn write the cell to open, column letter and row number, such as "c4"; the columns
        run from a at the left, the rows from 1 at the top. A mine ends the game, and you are
        paid 0. Another cell shows how many of its eight neighbours are mines; where that is 0, all
        its neighbours are opened for you. When every cell without a mine is open you have won and
        are paid 1. In the map # is a closed cell, a number the count of mines around it, * a mine.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    reward_terms = ("solved",)
    payoff_bounds = (0.0, 1.0)
    observation_bounds = (0, MINE)

    def validate(self) -> None:
        most = self.rows * self.columns - 1
        if self.mines > most:
            raise InvalidOption(f"mines must be from 1 to {most} on this board, not {self.mines}")

    @property
    def num_actions(self) -> int:
        return self.rows * self.columns

    @property
    def observation_shape(self) -> tuple[int, int]:
        return (self.rows, self.columns)

    # The rules

    @staticmethod
    def init_state(config: Minesweeper, state: MinesweeperState) -> None:
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
    def apply_actions(config: Minesweeper, state: MinesweeperState, actions: Any, out: Any) -> None:
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
    def write_legal_mask(
        config: Minesweeper, state: MinesweeperState, seat: int, mask: Any
    ) -> None:
        for cell in range(config.rows * config.columns):
            mask[cell] = state.open[cell // config.columns, cell % config.columns] == 0

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        meaning = "by row and column: mines around an open cell, 9 for a closed cell, 10 for a mine"
        return (Channel("cells", self.rows, meaning),)

    @staticmethod
    def write_observation(
        config: Minesweeper, state: MinesweeperState, seat: int, obs: Any
    ) -> None:
        """Counts of open cells, 9 for a closed cell, 10 for a mine that was opened."""
        for row in range(config.rows):
            for column in range(config.columns):
                shown = MINE if state.mine[row, column] else state.around[row, column]
                obs[row, column] = shown if state.open[row, column] else CLOSED

    def observe(self, state: MinesweeperState, seat: int) -> NDArray[Any]:
        """The same as `write_observation`, with array operations; faster if nothing is compiled."""
        mine, rows, columns = np.pad(state.mine, 1), self.rows, self.columns
        around = sum(mine[r : r + rows, c : c + columns] for r in range(3) for c in range(3))
        shown = np.where(state.mine, MINE, around)
        return np.where(state.open, shown, CLOSED).astype(self.observation_dtype)

    def outcome(self, state: MinesweeperState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        won = ended.results[0] == "win"
        reason = "every safe cell is open" if won else "a mine was opened"
        return Outcome(ended.results, (float(won),), reason)

    def record_facts(self, state: MinesweeperState) -> dict[str, Any]:
        """Facts for the record: the share of safe cells that are open."""
        return {"progress": 1 - int(state.left) / (self.num_actions - self.mines)}

    # States

    def determinize(self, state: MinesweeperState, seat: int, rng: Rng) -> Any:
        """Draw the mines evenly from all placements that fit the open cells' counts."""
        self.refuse_the_end(state)
        copy = self.clone(state)
        mines = place_mines(self.visible_board(state), rng)
        copy.mine[:] = 0
        for cell in mines:
            copy.mine[divmod(cell, self.columns)] = 1
        rest = [cell for cell in range(self.num_actions) if cell not in mines]
        rng.shuffle(rest)
        copy.order[:] = [*mines, *rest]
        return copy

    def visible_board(self, state: MinesweeperState) -> VisibleBoard:
        """The board as the player sees it."""
        return VisibleBoard(self.seen(state, 0).tolist(), self.mines)

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

    def narrate(
        self, before: MinesweeperState | None, actions: Mapping[int, int], after: MinesweeperState
    ) -> list[Event]:
        if before is None:
            return []
        name, view = self._names[actions[0]], self.seen(after, 0)
        row, column = divmod(actions[0], self.columns)
        opened = int(after.open.sum()) - int(before.open.sum())
        shown = int(view[row, column])
        found = "a mine" if shown == MINE else f"{shown} around it"
        more = f"; {opened} cells are opened" if opened > 1 else ""
        data = {"cell": actions[0], "view": view.tolist()}
        return [Event("reveal", f"You open {name}: {found}{more}.", data)]

    def describe(self, state: MinesweeperState, seat: int) -> str:
        width = len(str(self.rows))
        lines = [" " * width + " " + " ".join(LETTERS[: self.columns])]
        for number, row in enumerate(self.seen(state, seat).tolist(), 1):
            lines.append(f"{number:>{width}} {' '.join(map(symbol, row))}")
        return "\n".join([*lines, f"Mines: {self.mines}. Safe cells still closed: {state.left}."])

    def action_text(self, state: MinesweeperState, seat: int, action: int) -> str:
        return self._names[action]

    def scene(self, state: MinesweeperState, seat: int | None = None) -> Scene:
        view, mines = self.seen(state, 0).tolist(), state.mine.tolist()
        rows = [
            tuple(piece(code, seat is None and bool(mine)) for code, mine in zip(*row, strict=True))
            for row in zip(view, mines, strict=True)
        ]
        labels = tuple(LETTERS[: self.columns])
        grid = Grid(tuple(rows), tuple(str(r + 1) for r in range(self.rows)), labels)
        safe = self.num_actions - self.mines
        return Scene(grid=grid, bars=(Bar("open", float(safe - state.left), float(safe), 2),))


@cache
def symbol(code: int) -> str:
    """How a cell is written, by its code in the array view."""
    return "#" if code == CLOSED else "*" if code == MINE else str(code)


# The colours of the digits, as players of the game know them
DIGITS = ("grey", "blue", "green", "red", "purple", "brown", "seat2", "black")


def piece(code: int, hidden_mine: bool) -> Piece | None:
    """How a cell is drawn; spectators see a flag on a closed cell that hides a mine."""
    if code == CLOSED:
        label, flag = ("closed, with a mine", "flag") if hidden_mine else ("closed", "")
        return Piece("#", "grey", "square", label, "closed", badge=flag)
    if code == MINE:
        return Piece("*", "black", "tile", "mine", "bomb")
    return Piece(str(code), DIGITS[code % 8], "mark", f"{code} around") if code else None


def mines_around(config: Minesweeper, state: MinesweeperState, row: int, column: int) -> int:
    """Mines among the neighbours of a cell."""
    count = 0
    for r in range(max(row - 1, 0), min(row + 2, config.rows)):
        for c in range(max(column - 1, 0), min(column + 2, config.columns)):
            count += state.mine[r, c]
    return int(count - state.mine[row, column])


def open_cell(config: Minesweeper, state: MinesweeperState, row: int, column: int) -> None:
    """Open a cell, and around every open cell without mines around it, until nothing changes."""
    open_one(config, state, row, column)
    spread = state.around[row, column] == 0
    while spread:
        spread = False
        for r in range(config.rows):
            for c in range(config.columns):
                if state.open[r, c] and state.around[r, c] == 0:
                    spread |= open_around(config, state, r, c)


def open_one(config: Minesweeper, state: MinesweeperState, row: int, column: int) -> None:
    """Open a closed cell without a mine, and count the mines around it."""
    state.open[row, column] = 1
    state.around[row, column] = mines_around(config, state, row, column)
    state.left -= 1


def open_around(config: Minesweeper, state: MinesweeperState, row: int, column: int) -> bool:
    """Open the closed neighbours of a cell; returns whether there was one."""
    before = state.left
    for r in range(max(row - 1, 0), min(row + 2, config.rows)):
        for c in range(max(column - 1, 0), min(column + 2, config.columns)):
            if state.open[r, c] == 0:
                open_one(config, state, r, c)
    return bool(state.left < before)
