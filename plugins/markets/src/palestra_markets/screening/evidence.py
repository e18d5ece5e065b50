"""How notes depend on the case, and the least expected cost of a decision by Bayes' rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp

SCORES = 5
BAD, GOOD = range(2)


@dataclass(frozen=True, slots=True)
class Evidence:
    """How likely each score of a note is, for good and bad cases of a group.

    clarity: the odds of good against bad are exp(clarity) times higher from one score to the next.
    bias: chance that a note about the second group is one score lower.
    """

    clarity: float
    bias: float

    def likelihoods(self, group: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The chance of each score, for bad and for good cases."""
        return _likelihoods(self.clarity, self.bias if group else 0.0)


@lru_cache(maxsize=64)
def _likelihoods(clarity: float, bias: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    base = (1.0, 2.0, 3.0, 2.0, 1.0)
    middle = (SCORES - 1) / 2
    both = []
    for sign in (-1, 1):
        lean = sign * clarity / 2
        weights = [b * exp(lean * (score - middle)) for score, b in enumerate(base)]
        chances = [weight / sum(weights) for weight in weights]
        lowered = [
            (1 - bias * (score > 0)) * chances[score]
            + (bias * chances[score + 1] if score + 1 < SCORES else 0.0)
            for score in range(SCORES)
        ]
        both.append(tuple(lowered))
    return both[0], both[1]


def posterior(prior: float, notes: Sequence[int], evidence: Evidence, group: int) -> float:
    """The chance that a case is good after some notes, each scored from 0."""
    bad, good = evidence.likelihoods(group)
    odds = [1 - prior, prior]
    for score in notes:
        odds = [odds[BAD] * bad[score], odds[GOOD] * good[score]]
    return odds[GOOD] / sum(odds)


@dataclass(frozen=True, slots=True)
class Costs:
    """The prices of a check, of accepting a case, and of rejecting a good one."""

    check: float
    accept: float
    miss: float


@lru_cache(maxsize=200_000)
def least_cost(
    prior: float, counts: tuple[int, ...], left: int, evidence: Evidence, group: int, costs: Costs
) -> float:
    """The expected cost of the best decisions from here on.

    counts: notes so far by score. left: notes that can still be bought.
    """
    notes = [score for score, count in enumerate(counts) for _ in range(count)]
    chance = posterior(prior, notes, evidence, group)
    now = min(costs.accept, costs.miss * chance)
    if not left:
        return now
    return min(now, cost_of_check(prior, counts, left, evidence, group, costs))


def cost_of_check(
    prior: float, counts: tuple[int, ...], left: int, evidence: Evidence, group: int, costs: Costs
) -> float:
    """The expected cost of one more note and of the best decisions after it."""
    notes = [score for score, count in enumerate(counts) for _ in range(count)]
    chance = posterior(prior, notes, evidence, group)
    bad, good = evidence.likelihoods(group)
    total = costs.check
    for score in range(SCORES):
        seen = tuple(count + (place == score) for place, count in enumerate(counts))
        likely = chance * good[score] + (1 - chance) * bad[score]
        total += likely * least_cost(prior, seen, left - 1, evidence, group, costs)
    return total


def optimal_cost(prior: float, checks: int, evidence: Evidence, group: int, costs: Costs) -> float:
    """The expected cost of a case with the best decisions; its first note is free."""
    bad, good = evidence.likelihoods(group)
    total = 0.0
    for score in range(SCORES):
        seen = tuple(int(place == score) for place in range(SCORES))
        likely = prior * good[score] + (1 - prior) * bad[score]
        total += likely * least_cost(prior, seen, checks, evidence, group, costs)
    return total
