"""Components on offer: their prices, their true values, and what is claimed of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, comb, exp

import numpy as np
from palestra.kernel.rng import Rng

QUERIES = 100  # queries in the sandbox; a component's value is how many of them it solves
CHEAPEST, DEAREST = 10, 40
ERROR = 15.0  # standard deviation of the error of claims, in queries


@dataclass(frozen=True, slots=True)
class Component:
    """One component on offer."""

    price: int
    value: int  # sandbox queries that it solves
    claim: int  # sandbox queries that it is claimed to solve
    kind: int = 0


def draw_component(low: float, high: float, kinds: int, hype: float, rng: Rng) -> Component:
    """Draw a component.

    Its value over price is drawn uniformly on a logarithmic scale from `low` to `high`. Its claim
    is its value, plus `hype`, plus a nearly normal error.
    """
    price = rng.between(CHEAPEST, DEAREST)
    value = round(price * low * (high / low) ** rng.random())
    value = min(int(high * price), max(ceil(low * price), value))
    luck = sum(rng.random() for _ in range(12)) - 6  # nearly normal
    claim = min(QUERIES, max(0, round(value + hype + ERROR * luck)))
    return Component(price, value, claim, rng.below(kinds) if kinds else 0)


def likely_values(
    price: int, claim: int, low: float, high: float, hype: float, solved: int, run: int
) -> list[float]:
    """Unnormalised posterior weights of the values 0 to QUERIES, given price, claim and trials.

    `run` is the number of queries tried, `solved` how many of them were solved.
    """
    weights = [0.0] * (QUERIES + 1)
    most = int(high * price)
    for value in range(min(ceil(low * price), most), most + 1):
        seen = comb(value, solved) * comb(QUERIES - value, run - solved) / comb(QUERIES, run)
        wrong = (claim - value - hype) / ERROR
        weights[value] = seen / max(1, value) * max(1e-9, exp(-wrong * wrong / 2))
    return weights


def best_value(components: Sequence[Component], budget: int, kinds: int = 0) -> int:
    """The highest total value within the budget, by dynamic programming; `kinds`: one of each."""
    groups: dict[int, list[Component]] = {}
    for number, component in enumerate(components):
        groups.setdefault(component.kind if kinds else number, []).append(component)
    best = np.zeros(budget + 1, np.int64)
    for group in groups.values():
        before = best.copy()
        for item in group:
            if item.price <= budget:
                with_it = before[: budget + 1 - item.price] + item.value
                np.maximum(best[item.price :], with_it, out=best[item.price :])
    return int(best[-1])
