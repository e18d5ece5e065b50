"""What a person may click next: the cells with which a legal move may begin or go on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from palestra import Grid, Scene
from palestra.scene import Cell, mark_cells

MOST = 60  # cells; where more may be clicked, marking them all says nothing


def bare(text: str) -> str:
    """Letters and digits only, to compare clicks on two cells with a move such as "a2-a3"."""
    return re.sub(r"[\W_]", "", text).lower()


def with_targets(scene: Scene, moves: Sequence[str], typed: str) -> Scene:
    """The scene with the cell that was clicked, and those that may be clicked next, marked."""
    begun = bare(typed)
    rests = {bare(move)[len(begun) :] for move in moves if bare(move).startswith(begun)}
    rests.discard("")
    if not rests:
        return scene
    parts = tuple(
        replace_marks(part, rests, begun) if isinstance(part, Grid) else part
        for part in scene.all_parts()
    )
    return scene.with_parts(parts)


def replace_marks(grid: Grid, rests: set[str], begun: str) -> Grid:
    cells = [(r, c) for r, row in enumerate(grid.cells) for c in range(len(row))]
    names = {cell: bare(grid.name(*cell)) for cell in cells}
    starts = {rest[:size] for rest in rests for size in range(1, len(rest) + 1)}
    targets: list[Cell] = [cell for cell, name in names.items() if name and name in starts]
    chosen = [cell for cell, name in names.items() if name and name == begun]
    if len(targets) > MOST or (len(targets) == len(cells) and not begun):
        targets = []
    kept = tuple(mark for mark in grid.marks if mark[1] not in {*targets, *chosen})
    marks = (*kept, *mark_cells("target", targets), *mark_cells("selected", chosen))
    return replace(grid, marks=marks)
