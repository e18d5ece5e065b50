"""Orders of a kitchen, what they earn with each cook, and the best way to share them out."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from palestra import MissingExtra, Rng

TOOLS = ("chopper", "pot", "blender")
MOST_PORTIONS = 2  # of one dish at one tool
PRICES = (8, 20)
DEADLINES = (4, 16)

Pace = tuple[int, ...]  # ticks for a portion, by tool


class Order(NamedTuple):
    """A dish that a guest asks for: the portions at each tool, its price and its deadline."""

    portions: tuple[int, ...]
    price: int
    deadline: int  # in ticks after the service begins

    def ticks(self, pace: Pace) -> int:
        """How long a cook of this pace works on it."""
        return sum(n * slow for n, slow in zip(self.portions, pace, strict=True))

    def gain(self, pace: Pace) -> int:
        """The price if a cook of this pace is in time, else 0, minus the ticks worked."""
        ticks = self.ticks(pace)
        return (self.price if ticks <= self.deadline else 0) - ticks


def draw_order(rng: Rng) -> Order:
    """A dish with one portion or more, its price and its deadline."""
    portions = [0] * len(TOOLS)
    while not any(portions):
        portions = [rng.below(MOST_PORTIONS + 1) for _ in TOOLS]
    return Order(tuple(portions), rng.between(*PRICES), rng.between(*DEADLINES))


@lru_cache(maxsize=1024)
def consistent_paces(slowest: int, seen: tuple[tuple[Order, int], ...]) -> tuple[Pace, ...]:
    """All paces with which a cook would have worked as long as was seen."""
    return tuple(
        pace
        for pace in product(range(1, slowest + 1), repeat=len(TOOLS))
        if all(order.ticks(pace) == ticks for order, ticks in seen)
    )


def best_allocation(gains: NDArray[np.float64]) -> list[int | None]:
    """For each cook (a row) the order (a column) that they take, or None to rest.

    The sum of gains is the largest, where resting gains 0 and no two cooks take one order. It is
    found by `scipy.optimize.linear_sum_assignment`. Raises `MissingExtra` without scipy.
    """
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as error:
        raise MissingExtra("scipy, which shares orders out,", "palestra-envs[scipy]") from error
    cooks, orders = gains.shape
    rows, columns = linear_sum_assignment(
        np.hstack([gains, np.zeros((cooks, cooks))]), maximize=True
    )
    return [int(order) if order < orders else None for _, order in zip(rows, columns, strict=True)]
