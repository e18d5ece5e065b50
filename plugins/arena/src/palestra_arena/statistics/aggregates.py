"""Scores over many tasks and runs as one number or one curve.

Interquartile mean, performance profiles and stratified bootstrap after Agarwal et al. 2021
(arXiv:2108.13264). Scores are (runs, tasks).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import default_rng
from numpy.typing import ArrayLike, NDArray
from palestra import Interval, InvalidOption
from palestra.records.intervals import alike_interval
from scipy import stats

Floats = NDArray[np.float64]


def iqm(scores: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Any:
    """The mean of the middle half of all scores: robust as a median, and steadier."""
    table = np.asarray(scores, dtype=float)
    if isinstance(axis, tuple):
        axes = [a % table.ndim for a in axis]
        kept = [a for a in range(table.ndim) if a not in axes]
        table = table.transpose(*kept, *axes).reshape(*(table.shape[a] for a in kept), -1)
        axis = -1
    return stats.trim_mean(table, 0.25, axis=axis)


def performance_profile(scores: ArrayLike, thresholds: ArrayLike) -> Floats:
    """The share of all runs that score more than each threshold."""
    flat = np.sort(np.asarray(scores, dtype=float).ravel())
    return 1 - np.searchsorted(flat, np.asarray(thresholds, float), "right") / len(flat)


def stratified_interval(
    scores: ArrayLike,
    aggregate: Callable[..., Any] = iqm,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """An aggregate of (runs, tasks) with a percentile interval: runs are drawn task by task.

    `aggregate` takes the axes to reduce as `axis`. Where all runs of each task came out alike, the
    interval is not a number.
    """
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or not table.size:
        raise InvalidOption(f"scores must be (runs, tasks), not {table.shape}")
    runs, tasks = table.shape
    rows = default_rng(seed).integers(runs, size=(resamples, runs, tasks))
    drawn = aggregate(table[rows, np.arange(tasks)], axis=(1, 2))
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    value = float(aggregate(table, axis=(0, 1)))
    if not np.ptp(table, axis=0).any():
        return alike_interval(value, runs)
    return Interval(value, float(low), float(high))
