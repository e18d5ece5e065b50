"""Draws of the ground that a player does not see."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from palestra_envs.grid.xland.options import MAZE, ROOMS, XLandOptions, XLandState
from palestra_envs.grid.xland.rules import ROOM, SQUARE

LAID = 100  # grounds that are laid until each piece agrees with what is seen of it

Pieces = dict[
    str, NDArray[np.intp]
]  # by field of the state and cell: the cell that names its piece


def pieces_of(config: XLandOptions) -> Pieces:
    """Which cells are laid together: what is drawn for one piece says nothing of another."""
    row, column = np.indices((config.rows, config.columns))
    square = row - row % SQUARE, column - column % SQUARE
    if config.ground == ROOMS:  # from one corner to the next
        across, down = row % (ROOM + 1) == ROOM, column % (ROOM + 1) == ROOM
        along = column - column % (ROOM + 1) * (across & ~down)
        row = row - row % (ROOM + 1) * (down & ~across)
        column = along
    elif config.ground == MAZE:  # to the south or to the east of one pillar
        south, east = (row % 2 == 0) & (column % 2 == 1), (row % 2 == 1) & (column % 2 == 0)
        row, column = row - south * (row > 0), column - east * (column > 0)
    wide = config.columns
    return {
        "floor": (square[0] * wide + square[1]).ravel(),
        "walls": (row * wide + column).ravel(),
    }


def lay_unseen(
    imagined: XLandState, seen: NDArray[np.bool_], pieces: Pieces, lay: Callable[[], XLandState]
) -> None:
    """Lay what is out of sight anew, so that every piece agrees with what is seen of it.

    A piece that is seen in part is given what is left of the first ground laid by `lay` that is
    the same there; where `LAID` of them are not, the rest of the last.
    """
    for field, piece in pieces.items():
        ground, waiting = getattr(imagined, field), ~seen
        for number in range(LAID):
            new = getattr(lay(), field)
            unlike = np.zeros(len(seen), np.bool_)
            unlike[piece[seen & (ground != new)]] = number < LAID - 1
            fits = waiting & ~unlike[piece]
            ground[fits] = new[fits]
            waiting &= ~fits
            if not waiting.any():
                break
