"""The bootstrap, for values other than shares; for shares use `palestra.wilson`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import ArrayLike, NDArray
from palestra import Interval, InvalidOption
from palestra.records.intervals import ALIKE, Bounds, alike_interval
from scipy import stats


def bootstrap(
    values: ArrayLike,
    statistic: Callable[..., Any] = np.mean,
    *,
    confidence: float = 0.95,
    resamples: int = 5000,
    seed: int = 0,
    bounds: Bounds = (None, None),
) -> Interval:
    """A bias-corrected and accelerated bootstrap interval (Efron 1987) over independent values.

    `statistic` takes an `axis`. Values that are all equal, and a single one, give Wilson's interval
    between `bounds`, the lowest and the highest value there can be, and one that is not a number
    without them. Where too few values leave nothing to correct by, it is the percentile one.
    """
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1 or not len(sample):
        raise InvalidOption(f"values must be a list of at least one number, not {sample.shape}")
    estimate = float(statistic(sample, axis=0))
    if _are_alike(sample):
        return alike_interval(estimate, len(sample), bounds, confidence)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = _resample(sample, statistic, confidence, resamples, seed, "BCa")
    if not math.isfinite(found.low + found.high):
        found = _resample(sample, statistic, confidence, resamples, seed, "percentile")
    return Interval(estimate, float(found.low), float(found.high))


MANY = 1000  # values, beyond which the mean is normal enough and a bootstrap only slow


def mean_interval(
    values: ArrayLike,
    confidence: float = 0.95,
    times: ArrayLike | None = None,
    *,
    bounds: Bounds = (None, None),
) -> Interval:
    """The mean with a bootstrap interval, and with Student's t beyond `MANY` values.

    `times` says how often each value was seen; once, where it is not given. `bounds` are those of
    `bootstrap`.
    """
    sample = np.asarray(values, dtype=float)
    seen = np.ones(len(sample), int) if times is None else np.asarray(times)
    number = int(seen.sum())
    if number <= MANY:
        repeated = np.repeat(sample, seen)
        return bootstrap(repeated, confidence=confidence, resamples=1000, bounds=bounds)
    if _are_alike(sample):
        return alike_interval(float(sample[0]), number, bounds, confidence)
    mean = float(np.average(sample, weights=seen))
    squares = float(seen @ (sample - mean) ** 2)
    error = math.sqrt(squares / (number - 1) / number)
    half = float(stats.t.ppf((1 + confidence) / 2, number - 1)) * error
    return Interval(mean, mean - half, mean + half)


def resample_weights(blocks: int, times: int, rng: Generator) -> NDArray[np.float64]:
    """The share of every block in the sample as it is, and in each of `times` resamples of it.

    An array of shape (1 + times, blocks), for statistics that are resampled together.
    """
    even = np.full(blocks, 1 / blocks)
    return np.vstack([even, rng.multinomial(blocks, even, size=times) / blocks])


def _are_alike(sample: NDArray[np.float64]) -> bool:
    return bool(np.ptp(sample) <= ALIKE * np.abs(sample).max())


def _resample(
    sample: NDArray[np.float64],
    statistic: Callable[..., Any],
    confidence: float,
    resamples: int,
    seed: int,
    method: str,
) -> Any:
    return stats.bootstrap(
        (sample,),
        statistic,
        n_resamples=resamples,
        batch=max(1, 2_000_000 // len(sample)),
        confidence_level=confidence,
        method=method,
        rng=default_rng(seed),
    ).confidence_interval
