"""What a person may click next: the cells with which a legal move may begin or go on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from palestra import Grid, Scene
from palestra.scene import Cell, mark_cells

MOST = 60  # cells; where more may be clicked, marking them all says nothing

KEYS = {  # as pages have them: the names of moves that a key may play, the first that there is
    "up": ("up", "north", "moveup", "movenorth", "forward", "moveforward"),
    "down": ("down", "south", "movedown", "movesouth", "back", "backward"),
    "left": ("left", "west", "moveleft", "movewest", "turnleft"),
    "right": ("right", "east", "moveright", "moveeast", "turnright"),
    "space": ("interact", "use", "act", "toggle", "pickup"),
    ".": ("stay", "wait", "noop", "pass", "still"),
}


def key_moves(moves: Sequence[str]) -> dict[str, str]:
    """The move of each key, in a game whose moves are directions; of others none has one."""
    by_name = {bare(move): move for move in moves}
    found = {
        key: by_name[name]
        for key, names in KEYS.items()
        if (name := next((one for one in names if one in by_name), ""))
    }
    return found if found.keys() & {"up", "down", "left", "right"} else {}


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
