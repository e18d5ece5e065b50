"""Income tax by brackets, in whole cents, and the rates of Saez."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

BRACKETS = (0, 11_600, 47_150, 100_525, 191_950, 243_725, 609_350)
"""Where the seven brackets of the United States begin, in dollars: single filers, 2024."""
FEDERAL = (10, 12, 22, 24, 32, 35, 37)
"""Their rates in percent."""


def tax(income: Any, rates: Sequence[int]) -> Any:
    """Cents owed on an income in cents, by marginal rates in whole percent, rounded down.

    Takes a number or an array.
    """
    starts = 100 * np.array(BRACKETS, np.int64)
    ends = np.append(starts[1:], np.iinfo(np.int64).max)
    part = np.clip(np.asarray(income, np.int64)[..., None], starts, ends) - starts
    return (part * np.array(rates, np.int64)).sum(-1) // 100


def shares(total: int, count: int, first: int = 0) -> list[int]:
    """A sum split into equal whole parts; the remainder goes one each to parts from `first` on."""
    each, left = divmod(total, count)
    return [each + ((place - first) % count < left) for place in range(count)]


def in_proportion(total: int, weights: Sequence[int]) -> list[int]:
    """A sum split into whole parts in proportion to `weights`; evenly if all are 0."""
    ends = list(accumulate(weights if any(weights) else [1] * len(weights)))
    marks = [total * end // ends[-1] for end in ends]
    return [mark - before for before, mark in pairwise([0, *marks])]


def saez_rate(weight: float, tail: float, elasticity: float) -> float:
    """(1 - G) / (1 - G + a e): E. Saez, Review of Economic Studies 68, 2001.

    weight: G, the mean welfare weight of higher incomes divided by that of all; capped at 1.
    tail: a, the local Pareto parameter z f(z) / (1 - F(z)) of incomes z.
    elasticity: e, of income to the share of it that is kept.
    """
    gain = 1 - min(max(weight, 0.0), 1.0)
    return gain / (gain + tail * elasticity) if gain > 0 else 0.0


def saez_rates(
    incomes: Sequence[float], weights: Sequence[float], elasticity: float
) -> list[float]:
    """Saez's rate for each bracket, from incomes in dollars and the weight of each.

    In a bracket that ends, a and G are taken at its middle, and the density is the part of incomes
    in the bracket over its width; in the top one the tail is m / (m - z), m the mean income above
    its beginning z. If there are no higher incomes, the rate is that of the bracket below.
    """
    earned, weighed = np.asarray(incomes, float), np.asarray(weights, float)
    mean_weight = weighed.mean()
    rates: list[float] = []
    for place, begins in enumerate(BRACKETS):
        last = place + 1 == len(BRACKETS)
        ends = np.inf if last else BRACKETS[place + 1]
        at = float(begins) if last else (begins + ends) / 2
        above = earned > at
        if not above.any() or mean_weight <= 0:
            rates.append(rates[-1] if rates else 0.0)
            continue
        if last:
            mean = earned[above].mean()
            tail = mean / (mean - at)
        else:
            density = ((earned > begins) & (earned <= ends)).mean() / (ends - begins)
            tail = at * density / above.mean()
        rates.append(saez_rate(weighed[above].mean() / mean_weight, tail, elasticity))
    return rates
