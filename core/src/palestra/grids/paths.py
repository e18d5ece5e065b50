"""Shortest ways for agents, checks and texts; `palestra.grids.moving.measure` is for rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Hashable, Iterable, Iterator
from typing import NamedTuple, TypeVar

Cell = TypeVar("Cell", bound=Hashable)
Steps = Callable[[Cell], Iterable[tuple[int, Cell]]]  # from a cell: moves, and where they lead


class Way(NamedTuple):
    """How many moves away a cell is, and the first of them; -1 where none is needed."""

    length: int
    first: int


def spread(start: Cell, steps: Steps[Cell]) -> Iterator[tuple[Cell, Way]]:
    """Every cell that can be reached, nearest first, with a shortest way to it.

    Of ways equally short it is the one whose moves `steps` names first.
    """
    ways = {start: Way(0, -1)}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        length, first = ways[here]
        yield here, ways[here]
        for move, there in steps(here):
            if there not in ways:
                ways[there] = Way(length + 1, first if length else move)
                queue.append(there)


def routes(start: Cell, steps: Steps[Cell]) -> dict[Cell, Way]:
    """The shortest way to every cell that can be reached."""
    return dict(spread(start, steps))


def first_move(start: Cell, goals: Container[Cell], steps: Steps[Cell]) -> int | None:
    """The first move of a shortest way to the nearest goal: -1 on it, None if there is no way."""
    return next((way.first for cell, way in spread(start, steps) if cell in goals), None)
