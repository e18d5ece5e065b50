"""Which agents are worth their cost: accuracy against cost, and value against cost.

AI Agents That Matter (Kapoor et al. 2024, arXiv:2407.01502) and the Holistic Agent Leaderboard
(arXiv:2510.11977) compare agents by the Pareto front of accuracy and cost. Its convex form keeps
only agents that no mixture of two others beats: one may always use one agent for a share of the
tasks, and another for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palestra import InvalidOption

Point = tuple[float, float]


def pareto_front(points: Mapping[str, Point], *, convex: bool = False) -> list[str]:
    """Names on the front of (cost, accuracy), from the cheapest on; equal points are all on it."""
    best: list[str] = []
    for name, (cost, accuracy) in sorted(points.items(), key=lambda p: (p[1][0], -p[1][1], p[0])):
        if not best or accuracy > points[best[-1]][1] or (cost, accuracy) == points[best[-1]]:
            best.append(name)
    if not convex:
        return best
    hull: list[str] = []
    for name in best:
        while len(hull) > 1 and _below(points[hull[-1]], points[hull[-2]], points[name]):
            hull.pop()
        hull.append(name)
    return hull


def _below(point: Point, left: Point, right: Point) -> bool:
    """Whether a point lies below the line between two others."""
    run, rise = right[0] - left[0], right[1] - left[1]
    return (point[1] - left[1]) * run < rise * (point[0] - left[0])


@dataclass(frozen=True, slots=True)
class PricedTask:
    """One task tried: whether it was done, how well (0 to 1), its market price and its cost."""

    passed: bool
    quality: float
    price: float
    cost: float

    def __post_init__(self) -> None:
        if not 0 <= self.quality <= 1 or self.price < 0 or self.cost < 0:
            raise InvalidOption(f"quality is from 0 to 1, price and cost 0 or more, not {self}")


def alpha_value(tasks: Sequence[PricedTask]) -> float:
    """Mean benefit a task: price times quality where it was done, less the cost.

    The alpha metric of GitTaskBench (arXiv:2508.18993).
    """
    _require(tasks)
    return sum(t.passed * t.price * t.quality - t.cost for t in tasks) / len(tasks)


def break_even(tasks: Sequence[PricedTask]) -> float:
    """The price per task at which total value equals total cost; infinite without success."""
    _require(tasks)
    made = sum(t.passed * t.quality for t in tasks)
    return sum(t.cost for t in tasks) / made if made else float("inf")


def _require(tasks: Sequence[PricedTask]) -> None:
    if not tasks:
        raise InvalidOption("alpha_value needs at least one task")
