"""A solver for logic grids: houses that a value can still be in, narrowed clue by clue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

SAME, NEXT, JUST_LEFT, LEFT, APART, HERE = range(6)
SYMMETRIC = (SAME, NEXT, APART)
ACROSS = (SAME, APART)  # say nothing about two values of one attribute
Houses = int  # a set of houses, a bit each


class Clue(NamedTuple):
    """A clue about a value and another value or a house; values number all attributes through."""

    kind: int
    one: int
    other: int


def holds(clue: Clue, places: Sequence[int]) -> bool:
    """Whether a clue is true of an arrangement: the house of every value."""
    here = places[clue.one]
    if clue.kind == HERE:
        return here == clue.other
    there = places[clue.other]
    if clue.kind == SAME:
        return here == there
    if clue.kind == NEXT:
        return abs(here - there) == 1
    if clue.kind == JUST_LEFT:
        return here + 1 == there
    return here < there if clue.kind == LEFT else here != there


def solutions(
    clues: Sequence[Clue], houses: int, attributes: int, *, limit: int
) -> list[tuple[int, ...]]:
    """The first arrangements that fit all clues, at most `limit` of them."""
    full = (1 << houses) - 1
    start = [full] * (houses * attributes)
    for clue in clues:
        if clue.kind == HERE:
            start[clue.one] &= 1 << clue.other
    joins = [clue for clue in clues if clue.kind != HERE]
    return list(islice(_search(start, joins, houses), limit))


def _search(could: list[Houses], clues: Sequence[Clue], houses: int) -> Iterator[tuple[int, ...]]:
    """All arrangements within what each value could be, trying the narrowest open value."""
    if not _narrow(could, clues, houses):
        return
    value = min(
        (v for v, where in enumerate(could) if where & (where - 1)),
        key=lambda v: could[v].bit_count(),
        default=None,
    )
    if value is None:
        yield tuple(where.bit_length() - 1 for where in could)
        return
    for house in range(houses):
        if could[value] >> house & 1:
            guess = could.copy()
            guess[value] = 1 << house
            yield from _search(guess, clues, houses)


def _narrow(could: list[Houses], clues: Sequence[Clue], houses: int) -> bool:
    """Apply all clues and the all-different rule until nothing changes.

    False if there is no house left for some value.
    """
    before: list[Houses] = []
    while before != could:
        before = could.copy()
        for clue in clues:
            one, other = could[clue.one], could[clue.other]
            could[clue.one], could[clue.other] = _possible_houses(
                clue.kind, one, other, (1 << houses) - 1
            )
        for first in range(0, len(could), houses):
            could[first : first + houses] = _differing(tuple(could[first : first + houses]))
        if 0 in could:
            return False
    return True


@lru_cache(maxsize=65_536)  # a deal asks 1,000 times, mostly the same
def _possible_houses(kind: int, one: Houses, other: Houses, full: Houses) -> tuple[Houses, Houses]:
    """The possible houses of two values that a clue leaves."""
    if kind == SAME:
        return one & other, one & other
    if kind == NEXT:
        return one & (other << 1 | other >> 1), other & (one << 1 | one >> 1)
    if kind == JUST_LEFT:
        return one & other >> 1, other & one << 1
    if kind == LEFT:
        lowest, highest = one & -one, 1 << other.bit_length() >> 1
        return one & (highest - 1 if highest else 0), other & full & ~((lowest << 1) - 1)
    if one & (one - 1) == 0:
        other &= ~one
    if other & (other - 1) == 0:
        one &= ~other
    return one, other


@lru_cache(maxsize=65_536)
def _differing(row: tuple[Houses, ...]) -> tuple[Houses, ...]:
    """Close houses of known values to others; give a house that fits only one value to it.

    `row` is where the values of one attribute could be; there are as many houses as values.
    """
    could, values = list(row), range(len(row))
    for value in values:
        if could[value] and could[value] & (could[value] - 1) == 0:
            for other in values:
                if other != value:
                    could[other] &= ~could[value]
    for house in values:
        takers = [value for value in values if could[value] >> house & 1]
        if len(takers) == 1:
            could[takers[0]] = 1 << house
    return tuple(could)
