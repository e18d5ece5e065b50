"""Square windows of a map as a player sees them, turned the way they face.

The first part compiles: plain functions over a state record with `row`, `column` and, where players
face somewhere, `facing` (numbered as in `palestra.grids.compass`); `config` holds `rows`,
`columns`, `sight` and the masks of `palestra.grids.levels.Level.masks`. A cell of a window is named
by how far ahead of the player it is and how far to their right; both are negative behind them and
to their left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.grids.compass import FACING_EASTWARD, FACING_SOUTHWARD
from palestra.kernel.array_game import ArrayGame

FAR = -1000  # a row and column that nobody sees
MAX_SIGHT = 30


# Geometry that compiles


def ahead_of(facing: int, south: int, east: int) -> int:
    """How far ahead an offset is for a player who faces that way."""
    return south * FACING_SOUTHWARD[facing] + east * FACING_EASTWARD[facing]


def right_of(facing: int, south: int, east: int) -> int:
    """How far to the right an offset is for a player who faces that way."""
    return ahead_of((facing + 1) % 4, south, east)


def window_row(state: Any, seat: int, facing: int, ahead: int, right: int) -> int:
    """The row of a cell of a player's window."""
    side = (facing + 1) % 4
    return state.row[seat] + ahead * FACING_SOUTHWARD[facing] + right * FACING_SOUTHWARD[side]


def window_column(state: Any, seat: int, facing: int, ahead: int, right: int) -> int:
    """The column of a cell of a player's window."""
    side = (facing + 1) % 4
    column: int = state.column[seat] + ahead * FACING_EASTWARD[facing]
    column += right * FACING_EASTWARD[side]
    return column


def on_map(config: Any, row: int, column: int) -> bool:
    """Whether a place is on the map."""
    return 0 <= row < config.rows and 0 <= column < config.columns


def in_sight(config: Any, state: Any, seat: int, row: int, column: int) -> bool:
    """Whether a player's window covers a cell."""
    far = max(abs(row - state.row[seat]), abs(column - state.column[seat]))
    return far <= config.sight


def has_bit(masks: Any, row: int, column: int) -> bool:
    """Whether a cell is in a set of cells, given as one integer a row."""
    return masks[row] >> int(column) & 1 == 1


# Windows, read and put into words


def cells_of(plane: NDArray[Any]) -> Iterator[tuple[int, int, int]]:
    """Yield (cells ahead, cells to the right, value) for every cell of a window that is not 0.

    The order is from far ahead to far behind, and in each row from left to right.
    """
    side, flat = len(plane), plane.ravel()
    chosen = flat.nonzero()[0]  # places in one row are found in a third of the time
    for place, value in zip(chosen.tolist(), flat[chosen].tolist(), strict=True):
        yield side // 2 - place // side, place % side - side // 2, int(value)


def places_of(plane: NDArray[Any]) -> list[str]:
    """The cells of a window that are not 0, written as (cells ahead, cells to the right)."""
    names = _place_names(len(plane))
    return [names[place] for place in plane.ravel().nonzero()[0].tolist()]


@cache
def _place_names(side: int) -> list[str]:
    everywhere = np.ones((side, side), np.int8)
    return [f"({ahead}, {right})" for ahead, right, _ in cells_of(everywhere)]


def draw_window(kinds: Mapping[str, NDArray[Any]]) -> list[str]:
    """Draw a window as lines of text from planes by the character that stands for each.

    A cell that is 0 in every plane is '.'; where planes overlap, the later one is drawn.
    """
    picture: NDArray[np.uint8] = np.zeros(next(iter(kinds.values())).shape, np.uint8)
    for number, plane in enumerate(kinds.values(), 1):
        np.putmask(picture, plane, number)
    marks = [".", *kinds]
    return ["".join([marks[number] for number in line]) for line in picture.tolist()]


def window_mask(rows: int, columns: int, place: tuple[int, int], sight: int) -> NDArray[np.bool_]:
    """Which cells of a map, by row and column, the window of a player at a place covers."""
    near_rows = abs(np.arange(rows) - place[0]) <= sight
    near_columns = abs(np.arange(columns) - place[1]) <= sight
    return near_rows[:, None] & near_columns[None, :]


def unseen_mask(game: ArrayGame, state: Any, seat: int) -> NDArray[np.bool_]:
    """Which cells of the map, by row and column, lie outside a player's window."""
    config, place = game.config, (int(state.row[seat]), int(state.column[seat]))
    return ~window_mask(config.rows, config.columns, place, config.sight)


def cells_in(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Row and column of the chosen cells, row by row."""
    rows, columns = chosen.nonzero()
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
