"""Square windows of a map as a player sees them, turned the way he looks.

The first part compiles: plain functions over a state record with `row`, `column` and, where players
look somewhere, `facing`; `config` holds `rows`, `columns`, `sight` and the masks of
`palestra.grids.levels.Level.masks`. A cell of a window is named by how far ahead of the player it
is and how far to his right; both are negative behind him and to his left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.kernel.array_game import ArrayGame

NORTH, EAST, SOUTH, WEST = range(4)
DOWN = (-1, 0, 1, 0)  # rows, by facing
ACROSS = (0, 1, 0, -1)  # columns, by facing
COMPASS = ("north", "east", "south", "west")
TURNED = ("ahead", "right", "back", "left")  # how another player faces, seen by oneself

FAR = -1000  # a row and column that nobody sees
MAX_SIGHT = 30


# Geometry that compiles


def ahead_of(facing: int, down: int, across: int) -> int:
    """How far ahead of somebody facing that way lies what is so far down and across the map."""
    far: int = down * DOWN[facing] + across * ACROSS[facing]
    return far


def right_of(facing: int, down: int, across: int) -> int:
    return ahead_of((facing + 1) % 4, down, across)


def window_row(state: Any, seat: int, facing: int, ahead: int, right: int) -> int:
    """The row of a cell of a player's window."""
    row: int = state.row[seat] + ahead * DOWN[facing] + right * DOWN[(facing + 1) % 4]
    return row


def window_column(state: Any, seat: int, facing: int, ahead: int, right: int) -> int:
    column: int = state.column[seat] + ahead * ACROSS[facing] + right * ACROSS[(facing + 1) % 4]
    return column


def on_map(config: Any, row: int, column: int) -> bool:
    inside: bool = 0 <= row < config.rows and 0 <= column < config.columns
    return inside


def in_sight(config: Any, state: Any, seat: int, row: int, column: int) -> bool:
    """Whether a player's window covers a cell."""
    far = max(abs(row - state.row[seat]), abs(column - state.column[seat]))
    seen: bool = far <= config.sight
    return seen


def has_bit(masks: Any, row: int, column: int) -> bool:
    """Whether a cell is in a set of cells, given as one integer a row."""
    found: bool = masks[row] >> int(column) & 1 == 1
    return found


# Windows, read and put into words


def cells_of(plane: NDArray[Any]) -> Iterator[tuple[int, int, int]]:
    """How far ahead, how far right, and the value, for every cell of a window that is not 0.

    From far ahead to far behind, each row from left to right.
    """
    sight = len(plane) // 2
    for row, column in zip(*(places.tolist() for places in plane.nonzero()), strict=True):
        yield sight - row, column - sight, int(plane[row, column])


def places_of(plane: NDArray[Any]) -> list[str]:
    """The cells of a window that are not 0, written as (cells ahead, cells to the right)."""
    return [f"({ahead}, {right})" for ahead, right, _ in cells_of(plane)]


def drawn(kinds: Mapping[str, NDArray[Any]]) -> list[str]:
    """A window as text: a character for each cell of a plane that is not 0, '.' for the others.

    Where planes overlap the later one is drawn.
    """
    side = len(next(iter(kinds.values())))
    lines = [["."] * side for _ in range(side)]
    for kind, plane in kinds.items():
        for ahead, right, _ in cells_of(plane):
            lines[side // 2 - ahead][side // 2 + right] = kind
    return ["".join(line) for line in lines]


def covered(rows: int, columns: int, place: tuple[int, int], sight: int) -> NDArray[np.bool_]:
    """Which cells of a map the window of somebody at a place (row, column) covers."""
    near_rows = abs(np.arange(rows) - place[0]) <= sight
    near_columns = abs(np.arange(columns) - place[1]) <= sight
    seen: NDArray[np.bool_] = near_rows[:, None] & near_columns[None, :]
    return seen


def unseen(game: ArrayGame, state: Any, seat: int) -> NDArray[np.bool_]:
    """Which cells of the map lie outside a player's window."""
    config, place = game.config, (int(state.row[seat]), int(state.column[seat]))
    return ~covered(config.rows, config.columns, place, config.sight)


def cells_in(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Row and column of the chosen cells, row by row."""
    rows, columns = chosen.nonzero()
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
