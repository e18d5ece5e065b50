"""Tests of a difference on the same tasks or seeds, with corrections for multiple tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.random import default_rng
from numpy.typing import ArrayLike, NDArray
from palestra import Interval, InvalidOption, UnknownName
from scipy import stats

from palestra_arena.statistics.intervals import bootstrap

Correction = Literal["holm", "bonferroni", "benjamini-hochberg"]
CORRECTIONS = ("holm", "bonferroni", "benjamini-hochberg")


class Comparison(NamedTuple):
    """A mean difference with its interval, and the chance of one as large if there were none."""

    difference: Interval
    p_value: float
    pairs: int


def compare_paired(
    first: ArrayLike,
    second: ArrayLike,
    *,
    confidence: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> Comparison:
    """Mean of first - second over pairs, tested by flipping signs (Fisher's permutation test).

    Exact where all flips can be listed, else over `resamples` of them. Where all differences are
    equal, their bounds are those between any two values that were seen.
    """
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if one.shape != two.shape or one.ndim != 1 or len(one) < 2:
        raise InvalidOption(
            f"pairs need two lists of one length, at least 2, not {one.shape} and {two.shape}"
        )
    gaps = one - two
    found = stats.permutation_test(
        (gaps,),
        lambda values, axis: values.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, 2_000_000 // len(gaps)),
        rng=default_rng(seed),
    )
    widest = float(np.ptp([one, two]))  # between any two values that were seen
    interval = bootstrap(gaps, confidence=confidence, seed=seed, bounds=(-widest, widest))
    return Comparison(interval, float(found.pvalue), len(gaps))


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """The exact p-value of McNemar's test: are the tasks only one agent solved split evenly?"""
    if len(first) != len(second):
        raise InvalidOption(f"{len(first)} and {len(second)} tasks are no pairs")
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    if not only_first + only_second:
        return 1.0
    return float(stats.binomtest(only_first, only_first + only_second).pvalue)


def correct(p_values: ArrayLike, how: Correction = "holm") -> NDArray[np.float64]:
    """Adjusted p-values of several tests, in their order.

    "holm" and "bonferroni" bound the chance of any false finding, "benjamini-hochberg" the share of
    false ones among the findings.
    """
    values = np.asarray(p_values, dtype=float)
    count = len(values)
    if how not in CORRECTIONS:
        raise UnknownName("correction", how, CORRECTIONS)
    adjusted = values.copy()
    if how == "benjamini-hochberg" and count:
        adjusted[:] = stats.false_discovery_control(values)
    elif how == "bonferroni":
        adjusted *= count
    elif how == "holm":
        order = np.argsort(values)
        adjusted[order] = np.maximum.accumulate(values[order] * (count - np.arange(count)))
    return np.clip(adjusted, 0.0, 1.0)
