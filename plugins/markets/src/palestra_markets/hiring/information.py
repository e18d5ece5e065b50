"""The experts' signals, and scoring rules that pay them for their reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, product
from typing import Any

import numpy as np

RULES = ("quadratic", "logarithmic", "spherical", "flat")


@dataclass(frozen=True, slots=True)
class Information:
    """Equally likely states, each with a signal, and how often signals are right by effort level.

    An expert at level e sees the true state with chance `accuracies[e]`, else one of the others.
    With chance `overlap` all experts share one draw, else each has their own.
    """

    states: int
    experts: int
    accuracies: tuple[float, ...]
    overlap: float

    @property
    def levels(self) -> int:
        return len(self.accuracies)

    @property
    def profiles(self) -> tuple[tuple[int, ...], ...]:
        """All combinations of effort levels."""
        return tuple(product(range(self.levels), repeat=self.experts))


@lru_cache(maxsize=256)
def joint(known: Information, profile: tuple[int, ...]) -> Any:
    """Chances of signals and state, of shape (signals of the first expert, …, state)."""
    m, k = known.states, known.experts
    table = np.zeros((m,) * (k + 1))
    right = [known.accuracies[level] for level in profile]
    for theta in range(m):
        single = [np.full(m, (1 - q) / (m - 1)) for q in right]
        for part, q in zip(single, right, strict=True):
            part[theta] = q
        own = single[0]
        for part in single[1:]:
            own = np.multiply.outer(own, part)
        table[..., theta] = (1 - known.overlap) * own + known.overlap * _shared_error_chances(
            m, right, theta
        )
    table /= m
    table.flags.writeable = False
    return table


def _shared_error_chances(states: int, right: Sequence[float], theta: int) -> Any:
    """Chances of signals if one draw decides who is right and another which way they err."""
    table = np.zeros((states,) * len(right))
    bounds = sorted({0.0, 1.0, *right})
    for low, high in pairwise(bounds):
        for off in range(1, states):
            seen = tuple(theta if low < q else (theta + off) % states for q in right)
            table[seen] += (high - low) / (states - 1)
    return table


def decision_value(known: Information, profile: tuple[int, ...]) -> float:
    """The chance of a right decision from true reports of experts at these levels."""
    return float(joint(known, profile).max(-1).sum())


def scores(rule: str, predicted: Any) -> Any:
    """The score of every outcome; `predicted` holds distributions over its last axis.

    Proper rules of G. Brier 1950, I. Good 1952 and T. Roby 1965. `flat` pays for any outcome and is
    not proper.
    """
    if rule == "quadratic":
        return 2 * predicted - (predicted**2).sum(-1, keepdims=True)
    if rule == "logarithmic":
        return np.log(np.maximum(predicted, 1e-6))
    if rule == "spherical":
        return predicted / np.sqrt((predicted**2).sum(-1, keepdims=True))
    return np.ones_like(predicted)


def payments(
    known: Information, profile: tuple[int, ...], expert: int, rule: str, most: int, verified: bool
) -> Any:
    """A scoring rule's payments to an expert, in whole units and in the shape of `joint`.

    The report is taken as a signal received at the recommended level, and the distribution that it
    predicts is scored: the distribution of the state if that is verified, else of the next expert's
    report (N. Miller, P. Resnick and R. Zeckhauser, Management Science 51, 2005). Scores are scaled
    to 0 … `most`.
    """
    k = known.experts
    about = k if verified else (expert + 1) % k
    others = tuple(axis for axis in range(k + 1) if axis not in (expert, about))
    seen = joint(known, profile).sum(others)
    if about < expert:
        seen = seen.T
    scored = scores(rule, seen / seen.sum(1, keepdims=True))
    low, high = scored.min(), scored.max()
    if rule == "flat":
        paid = np.full(scored.shape, most)
    elif high - low < 1e-9:
        paid = np.zeros(scored.shape, np.int64)
    else:
        paid = np.rint(most * (scored - low) / (high - low)).astype(np.int64)
    if about < expert:
        paid = paid.T
    shape = [1] * (k + 1)
    shape[expert] = shape[about] = known.states
    return np.broadcast_to(paid.reshape(shape), (known.states,) * (k + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Mechanism:
    """Profiles of recommended levels with their chances, and the payments under each.

    `pays[profile][expert]` holds whole units by all reports and the state, in the shape of `joint`.
    """

    profiles: tuple[tuple[int, ...], ...]
    chances: tuple[float, ...]
    pays: tuple[tuple[Any, ...], ...]

    def expected(self, known: Information, expert: int, advised: int, level: int) -> Any:
        """Average pay of each report by signal, of shape (signals, reports).

        The expert is advised one level and chooses another; the others obey and report truthfully.
        Rows are weighted with the chance of their signal.
        """
        total, weight = np.zeros((known.states, known.states)), 0.0
        for profile, chance, pays in zip(self.profiles, self.chances, self.pays, strict=True):
            if profile[expert] != advised:
                continue
            weight += chance
            chosen = (*profile[:expert], level, *profile[expert + 1 :])
            seen = np.moveaxis(joint(known, chosen), expert, 0).reshape(known.states, -1)
            paid = np.moveaxis(pays[expert], expert, 0).reshape(known.states, -1)
            total += chance * seen @ paid.T
        return total / weight if weight else total

    def best_answer(
        self, known: Information, expert: int, advised: int, costs: Sequence[int]
    ) -> tuple[int, float]:
        """The level that pays best, and its gain over the advised one, which wins ties."""
        gains = [
            float(self.expected(known, expert, advised, level).max(1).sum()) - costs[level]
            for level in range(known.levels)
        ]
        best = max(range(known.levels), key=lambda e: (gains[e] > gains[advised] + 1e-9, gains[e]))
        if gains[best] <= gains[advised] + 1e-9:
            return advised, 0.0
        return best, gains[best] - gains[advised]

    def principal_value(self, known: Information, value: int) -> float:
        """The principal's average gain with obedient, honest experts and the best decisions."""
        total = 0.0
        for profile, chance, pays in zip(self.profiles, self.chances, self.pays, strict=True):
            paid = sum(float((joint(known, profile) * table).sum()) for table in pays)
            total += chance * (value * decision_value(known, profile) - paid)
        return total


def scoring_mechanism(
    known: Information, profile: tuple[int, ...], rule: str, most: int, verified: bool
) -> Mechanism:
    """A mechanism with a single profile, in which every expert is paid by the same scoring rule."""
    pays = tuple(
        payments(known, profile, expert, rule, most, verified) for expert in range(known.experts)
    )
    return Mechanism((profile,), (1.0,), (pays,))
