"""Shortest paths for agents, checks and texts; rules use `palestra.grids.moving.measure`.

`steps` yields, for a cell, each move that can be made there and the cell it leads to. Among several
shortest paths these functions take the one whose moves `steps` yields first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from typing import NamedTuple, TypeVar

Cell = TypeVar("Cell", bound=Hashable)
Move = TypeVar("Move")
Steps = Callable[[Cell], Iterable[tuple[Move, Cell]]]


class Route(NamedTuple):
    """How many moves away a cell is, and the first of them; -1 where none is needed."""

    length: int
    first: int


def routes(start: Cell, steps: Steps[Cell, int]) -> dict[Cell, Route]:
    """The shortest route to every cell that can be reached, nearest first."""
    found = {start: Route(0, -1)}
    for cell, before, move in _spread(start, steps):
        length, first = found[before]
        found[cell] = Route(length + 1, first if length else move)
    return found


def way(start: Cell, goals: Container[Cell], steps: Steps[Cell, Move]) -> list[Move] | None:
    """The moves of a shortest path to the nearest goal; None if no goal can be reached."""
    if start in goals:
        return []
    came: dict[Cell, tuple[Cell, Move]] = {}
    for cell, before, move in _spread(start, steps):
        came[cell] = before, move
        if cell in goals:
            moves = []
            while cell != start:
                cell, move = came[cell]
                moves.append(move)
            return moves[::-1]
    return None


def _spread(start: Cell, steps: Steps[Cell, Move]) -> Iterator[tuple[Cell, Cell, Move]]:
    """Every other cell that can be reached, nearest first, with the cell before and the move."""
    seen, queue = {start}, deque([start])
    while queue:
        here = queue.popleft()
        for move, there in steps(here):
            if there not in seen:
                seen.add(there)
                queue.append(there)
                yield there, here, move
