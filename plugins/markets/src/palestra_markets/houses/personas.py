"""Houses and bidders: tastes, private values and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra.kernel.rng import Rng

ATTRIBUTES = ("size", "location", "condition", "garden")
BEST = 10  # marks go from 1
FULL_VALUE = 1_000  # value in thousands of a house with the best marks
STRONG, WEAK = (50, 70), (0, 100)  # the weight of the favourite in percent; shares of the rest
STREETS = ("Acacia", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Juniper",
           "Larch", "Maple", "Oak", "Poplar", "Rowan", "Spruce", "Willow")  # fmt: skip


@dataclass(frozen=True, slots=True)
class House:
    """A name, and marks from 1 to BEST by attribute."""

    name: str
    marks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Persona:
    """Weights in percent by attribute, which add up to 100, and a budget in thousands."""

    weights: tuple[int, ...]
    budget: int

    @property
    def favourite(self) -> int:
        """The attribute with the largest weight."""
        return self.weights.index(max(self.weights))

    def value(self, house: House) -> int:
        """What a house is worth to this bidder, in thousands."""
        score = sum(w * mark for w, mark in zip(self.weights, house.marks, strict=True))
        return score * FULL_VALUE // (100 * BEST)


def draw_house(number: int, rng: Rng) -> House:
    """Draw a house; its number decides its street."""
    marks = tuple(rng.between(1, BEST) for _ in ATTRIBUTES)
    return House(f"{rng.between(1, 99)} {STREETS[number % len(STREETS)]} Street", marks)


def draw_persona(budget: int, rng: Rng) -> Persona:
    """Draw one strong favourite and the other weights; the budget is within a fifth of `budget`."""
    favourite, strong = rng.below(len(ATTRIBUTES)), rng.between(*STRONG)
    shares = [rng.between(*WEAK) + 1 for _ in ATTRIBUTES]
    shares[favourite] = 0
    weights = [(100 - strong) * share // sum(shares) for share in shares]
    weights[favourite] = 100 - sum(weights)
    return Persona(tuple(weights), budget * rng.between(80, 120) // 100)


def fitted_favourite(marks: Sequence[Sequence[int]], bids: Sequence[float]) -> int:
    """The attribute whose marks best explain a rival's highest bids, by least squares.

    The first attribute where there are no bids.
    """
    if not bids:
        return 0
    table: Any = np.array(marks, float)
    # pulled a little towards equal weights, so that few houses do not decide too much
    pull = np.eye(table.shape[1])
    found = np.linalg.solve(
        table.T @ table + pull, table.T @ np.array(bids, float) + pull.sum(0) * np.mean(bids) / 25
    )
    return int(found.argmax())
