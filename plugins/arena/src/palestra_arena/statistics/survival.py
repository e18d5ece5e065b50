"""Survival curves: how many runs last how long, where some were cut short (Kaplan-Meier 1958)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from palestra import InvalidOption
from scipy import stats

Floats = NDArray[np.float64]


class SurvivalCurve(NamedTuple):
    """Share of runs that last longer than each of `times`, with a pointwise interval.

    The interval is the exponential Greenwood one; it is not a number where no run has failed yet,
    and after the last has.
    """

    times: Floats
    share: Floats
    low: Floats
    high: Floats


def survival_curve(
    durations: ArrayLike, ended: ArrayLike, *, confidence: float = 0.95
) -> SurvivalCurve:
    """Kaplan-Meier estimate from durations; `ended` is false for runs that were cut short."""
    lasted, observed = np.asarray(durations, dtype=float), np.asarray(ended, dtype=bool)
    if lasted.shape != observed.shape or lasted.ndim != 1 or not len(lasted):
        raise InvalidOption(
            f"durations and ended must be lists of one length, not {lasted.shape} "
            f"and {observed.shape}"
        )
    sample = stats.CensoredData(uncensored=lasted[observed], right=lasted[~observed])
    curve = stats.ecdf(sample).sf
    with np.errstate(all="ignore"):
        bounds = curve.confidence_interval(confidence, method="log-log")
    return SurvivalCurve(
        curve.quantiles, curve.probabilities, bounds.low.probabilities, bounds.high.probabilities
    )
