"""What players see from where they stand: functions for grid rules.

Plain functions that compile, see `palestra.kernel.array_game`. Cells are numbered row by row. A
state has `cell` by seat and `walls` by cell; `config` has `columns` and `sight`.
"""

from __future__ import annotations

from typing import Any


def sees(config: Any, state: Any, seat: int, cell: int) -> bool:
    """Whether a player's window, `config.sight` cells in every direction, covers a cell."""
    own = state.cell[seat]
    down = abs(cell // config.columns - own // config.columns)
    return max(down, abs(cell % config.columns - own % config.columns)) <= config.sight


def clear_line(config: Any, state: Any, one: int, other: int) -> bool:
    """Whether no wall is on the straight line between two cells, both excluded.

    The line consists of the cells nearest to it and starts at the cell with the lower number, so
    that it is the same both ways.
    """
    start, end, columns = min(one, other), max(one, other), config.columns
    row, column = start // columns, start % columns
    down, right = end // columns - row, end % columns - column
    length = max(abs(down), abs(right))
    for step in range(1, length):
        r = row + (2 * down * step + length) // (2 * length)
        c = column + (2 * right * step + length) // (2 * length)
        if state.walls[r * columns + c] == 1:
            return False
    return True
