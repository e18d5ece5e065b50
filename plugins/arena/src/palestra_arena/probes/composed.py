"""Items composed from parts: the words of an evaluation, its splits, and drawing evenly."""

from __future__ import annotations

import tomllib
from collections import deque
from collections.abc import Callable, Collection, Hashable, Sequence
from importlib.resources import files
from itertools import islice
from typing import Any, TypeVar

from numpy.random import Generator
from palestra import InvalidOption

COMPOSED, HELD_OUT, WRITTEN = "composed", "held-out", "written"
SPLITS = (COMPOSED, HELD_OUT, WRITTEN)
COMPARED = 16  # structures of the rarest cell, of which one is drawn
T = TypeVar("T")


def words_of(module: str) -> dict[str, Any]:
    """The parts that an evaluation composes, from the TOML file beside its module."""
    file = files("palestra_arena.evaluations").joinpath(f"{module}.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def check_split(split: str, splits: Sequence[str] = SPLITS) -> str:
    """The split itself; raises `InvalidOption` if the evaluation has none of this name."""
    if split not in splits:
        raise InvalidOption(f"there is no split {split!r}; choose from {', '.join(splits)}")
    return split


def check_count(name: str, count: object, most: int) -> None:
    """Raise `InvalidOption` for a number of items that is none from 1 to `most`."""
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= most:
        raise InvalidOption(f"{name} must be a whole number from 1 to {most}, not {count!r}")


def draw_evenly(
    found: Sequence[T],
    count: int,
    rng: Generator,
    *,
    cells: Callable[[T], Collection[Hashable]],
) -> list[T]:
    """Different structures, drawn so that each cell is filled about as often as the others.

    cells: what a structure counts towards, such as the values that it sets against each other. The
    next structure is one of a cell that has the fewest so far, and of some of those drawn, the one
    whose other cells have the fewest. Raises `InvalidOption` if there are fewer than `count`.
    """
    if count > len(found):
        raise InvalidOption(f"cannot draw {count} different items: there are {len(found)}")
    order = [found[i] for i in rng.permutation(len(found))]
    waiting: dict[Hashable, deque[int]] = {}
    for place, one in enumerate(order):
        for cell in cells(one):
            waiting.setdefault(cell, deque()).append(place)
    filled, used = dict.fromkeys(waiting, 0), dict[int, T]()
    while len(used) < count:
        rarest = min(waiting, key=lambda cell: filled[cell])
        some = _unused(waiting[rarest], used)
        if not some:
            del waiting[rarest]
            continue
        place = min(some, key=lambda one: sum(filled[cell] for cell in cells(order[one])))
        used[place] = order[place]
        for cell in cells(order[place]):
            filled[cell] += 1
    return list(used.values())


def _unused(places: deque[int], used: Collection[int]) -> list[int]:
    """The first places that are not used; used ones at the head are dropped."""
    while places and places[0] in used:
        places.popleft()
    return list(islice((place for place in places if place not in used), COMPARED))
