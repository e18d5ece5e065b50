"""Components on offer: a price, what is claimed of them, and how much they can really do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, comb, exp

import numpy as np
from palestra.kernel.rng import Rng

QUERIES = 100  # in the sandbox; a component's value is how many of them it solves
CHEAPEST, DEAREST = 10, 40
ERROR = 15.0  # by how much descriptions are wrong, standard deviation


@dataclass(frozen=True, slots=True)
class Component:
    """Price, value (queries of the sandbox that it solves), the claim of that, and kind."""

    price: int
    value: int
    claim: int
    kind: int = 0


def draw_component(low: float, high: float, kinds: int, hype: float, rng: Rng) -> Component:
    """Value a price is drawn evenly on a logarithmic scale from low to high; claims add `hype`."""
    price = rng.between(CHEAPEST, DEAREST)
    value = round(price * low * (high / low) ** rng.random())
    value = min(int(high * price), max(ceil(low * price), value))
    luck = sum(rng.random() for _ in range(12)) - 6  # nearly normal
    claim = min(QUERIES, max(0, round(value + hype + ERROR * luck)))
    return Component(price, value, claim, rng.below(kinds) if kinds else 0)


def likely_values(
    price: int, claim: int, low: float, high: float, hype: float, solved: int, run: int
) -> list[float]:
    """How likely every value from 0 to QUERIES is, by the price, the claim and the trials."""
    weights = [0.0] * (QUERIES + 1)
    for value in range(ceil(low * price), int(high * price) + 1):
        seen = comb(value, solved) * comb(QUERIES - value, run - solved) / comb(QUERIES, run)
        wrong = (claim - value - hype) / ERROR
        weights[value] = seen / value * max(1e-9, exp(-wrong * wrong / 2))
    return weights


def best_value(components: Sequence[Component], budget: int, kinds: int = 0) -> int:
    """The most value that fits the budget, at most one of a kind: dynamic programming over it."""
    groups: dict[int, list[Component]] = {}
    for number, component in enumerate(components):
        groups.setdefault(component.kind if kinds else number, []).append(component)
    best = np.zeros(budget + 1, np.int64)
    for group in groups.values():
        before = best.copy()
        for one in group:
            if one.price <= budget:
                with_it = before[: budget + 1 - one.price] + one.value
                np.maximum(best[one.price :], with_it, out=best[one.price :])
    return int(best[-1])
