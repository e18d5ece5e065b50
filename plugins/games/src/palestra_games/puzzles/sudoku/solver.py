"""All solutions of a Sudoku."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isqrt

Cells = tuple[int, ...]  # digits row by row, 0 for an empty cell


@lru_cache(maxsize=8)
def peers(side: int) -> tuple[tuple[int, ...], ...]:
    """For every cell, the others of its row, column and box."""
    box = isqrt(side)

    def share_house(one: int, two: int) -> bool:
        (r, c), (s, d) = divmod(one, side), divmod(two, side)
        return r == s or c == d or (r // box == s // box and c // box == d // box)

    cells = range(side * side)
    return tuple(tuple(b for b in cells if b != a and share_house(a, b)) for a in cells)


def solutions(cells: Sequence[int]) -> Iterator[Cells]:
    """Every way to fill the empty cells; the cell with the fewest digits left comes first."""
    side = isqrt(len(cells))
    grid, near = list(cells), peers(side)
    if any(grid[cell] and grid[cell] == grid[n] for cell in range(len(grid)) for n in near[cell]):
        return
    yield from _fill(grid, near, side)


def _fill(grid: list[int], near: tuple[tuple[int, ...], ...], side: int) -> Iterator[Cells]:
    best = -1
    fewest: list[int] = []
    for cell, digit in enumerate(grid):
        if digit:
            continue
        taken = {grid[n] for n in near[cell]}
        left = [d for d in range(1, side + 1) if d not in taken]
        if best < 0 or len(left) < len(fewest):
            best, fewest = cell, left
            if len(left) <= 1:
                break
    if best < 0:
        yield tuple(grid)
        return
    for digit in fewest:
        grid[best] = digit
        yield from _fill(grid, near, side)
    grid[best] = 0
