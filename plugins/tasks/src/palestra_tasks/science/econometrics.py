"""Estimators of an effect by least squares, and five studies told in words, a demonstration."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from palestra import Rng

from palestra_tasks.draws import normal

Array = NDArray[np.float64]
Table = Mapping[str, Array]
TINY = 1e-9
BANDWIDTH = 0.5  # of the local linear regression at a cutoff, on each side


@dataclass(frozen=True, slots=True)
class Estimate:
    """A coefficient, its classical standard error, and the F of the first stage; 0 without one."""

    value: float
    error: float
    strength: float = 0.0


def regress(
    y: Array, columns: Array, instrument: Array | None = None, *, absorbed: int = 1
) -> Estimate:
    """The coefficient of the first of `columns`, by least squares or two-stage least squares.

    All have their means taken out; `absorbed` is how many means these were. The instrument is for
    the first column. Raises ValueError where columns depend on each other or rows are too few.
    """
    free = len(y) - columns.shape[1] - absorbed
    if free < 1:
        raise ValueError(f"{len(y)} rows are too few for it")
    known = columns
    if instrument is not None:
        known = np.column_stack([instrument, columns[:, 1:]])
    inverse = _inverse(known.T @ known)
    fitted, strength = columns, 0.0
    if instrument is not None:
        first = inverse @ (known.T @ columns[:, 0])
        rest = columns[:, 0] - known @ first
        noise = float(rest @ rest) / free
        strength = float(first[0]) ** 2 / max(noise * float(inverse[0, 0]), TINY)
        fitted = np.column_stack([known @ first, columns[:, 1:]])
        inverse = _inverse(fitted.T @ fitted)
    found = inverse @ (fitted.T @ y)
    rest = y - columns @ found
    variance = float(rest @ rest) / free * float(inverse[0, 0])
    return Estimate(float(found[0]), math.sqrt(variance), strength)


def _inverse(moments: Array) -> Array:
    """The inverse of second moments; ValueError if one column is a sum of others."""
    scale = np.sqrt(np.diag(moments))
    if float(scale.min()) < TINY:
        raise ValueError("a column does not vary where the rest is held fixed")
    both = np.outer(scale, scale)
    alike = moments / both
    try:
        found = np.linalg.inv(alike)
    except np.linalg.LinAlgError:
        raise ValueError("a column is a sum of others") from None
    # the least eigenvalue is at least 1 over the sum of the inverse's, which costs less to know
    surely = 0 < float(np.trace(found)) < 0.1 / TINY
    if not surely and float(np.linalg.eigvalsh(alike)[0]) < TINY:
        raise ValueError("a column is a sum of others")
    return np.asarray(found / both)


def centred(*columns: Array) -> Array:
    """Columns side by side, less their means."""
    found = np.column_stack(columns)
    return np.asarray(found - found.mean(0))


def less_means(columns: Array, of: NDArray[np.int64]) -> Array:
    """Columns less the means of the group in which a row is; groups are numbered from 0."""
    counts = np.bincount(of)
    means = [np.bincount(of, column) / counts for column in columns.T]
    return np.asarray(columns - np.stack(means, 1)[of])


def _centred_regress(y: Array, *columns: Array) -> Estimate:
    return regress(y - y.mean(), centred(*columns))


def plain(table: Table) -> Estimate:
    """y on x."""
    return _centred_regress(table["y"], table["x"])


def control_for(table: Table) -> Estimate:
    """y on x and w."""
    return _centred_regress(table["y"], table["x"], table["w"])


def two_stage(table: Table) -> Estimate:
    """Two-stage least squares: y on x, with z as the instrument for x."""
    y, x, z = centred(table["y"], table["x"], table["z"]).T
    return regress(y, x[:, None], z)


def within(table: Table) -> Estimate:
    """y on x with an intercept for every unit: both are taken from the means of their units."""
    units, of = np.unique(table["unit"], return_inverse=True)
    y, x = less_means(np.column_stack([table["y"], table["x"]]), of).T
    return regress(y, x[:, None], absorbed=len(units))


def differences(table: Table) -> Estimate:
    """Difference in differences: the treated group's change beyond that of the others."""
    treated, after = table["group"], table["period"]
    return _centred_regress(table["y"], treated * after, treated, after)


def cutoff(table: Table) -> Estimate:
    """Regression discontinuity: the jump at 0 of two lines, within the bandwidth."""
    near = np.abs(table["score"]) <= BANDWIDTH
    y, score = table["y"][near], table["score"][near]
    above = (score >= 0).astype(np.float64)
    return _centred_regress(y, above, score, above * score)


METHODS: Mapping[str, tuple[tuple[str, ...], Callable[[Table], Estimate]]] = {
    "ols": (("x",), plain),
    "ols-controls": (("x", "w"), control_for),
    "iv": (("x", "z"), two_stage),
    "fixed-effects": (("x", "unit"), within),
    "did": (("group", "period"), differences),
    "rdd": (("score",), cutoff),
}


@dataclass(frozen=True, slots=True)
class Study:
    """How data came about, in words, and the method that fits."""

    name: str
    story: str
    method: str
    draw: Callable[[Rng, int, float], Table]


def _many(rng: Rng, count: int) -> Array:
    return np.array([normal(rng) for _ in range(count)])


def _confounded_table(rng: Rng, count: int, effect: float) -> Table:
    w = _many(rng, count)
    x = 0.8 * w + _many(rng, count)
    y = 1 + effect * x + 2 * w + _many(rng, count)
    return {"y": y, "x": x, "w": w, "z": _many(rng, count)}


def _instrument(rng: Rng, count: int, effect: float) -> Table:
    z, hidden = _many(rng, count), _many(rng, count)
    x = 1.2 * z + hidden + 0.5 * _many(rng, count)
    y = 1 + effect * x + 2 * hidden + _many(rng, count)
    return {"y": y, "x": x, "w": _many(rng, count), "z": z}


def _panel(rng: Rng, count: int, effect: float) -> Table:
    units = np.repeat(np.arange(max(3, count // 6)), 6).astype(np.float64)
    own = np.repeat(_many(rng, max(3, count // 6)), 6)
    x = own + _many(rng, len(units))
    y = 1 + effect * x + 3 * own + _many(rng, len(units))
    return {"y": y, "x": x, "w": _many(rng, len(units)), "unit": units}


def _law(rng: Rng, count: int, effect: float) -> Table:
    group = np.array([float(rng.below(2)) for _ in range(count)])
    period = np.array([float(rng.below(2)) for _ in range(count)])
    y = 1 + 2 * group + 1.5 * period + effect * group * period + _many(rng, count)
    return {"y": y, "x": group * period, "group": group, "period": period}


def _threshold(rng: Rng, count: int, effect: float) -> Table:
    score = 2 * np.array([rng.random() for _ in range(count)]) - 1
    x = (score >= 0).astype(np.float64)
    y = 1 + effect * x + 3 * score + 0.5 * _many(rng, count)
    return {"y": y, "x": x, "score": score}


STUDIES = {
    study.name: study
    for study in (
        Study(
            "controls",
            "Wages (y) are compared with years of training (x). People with higher test scores "
            "(w) take more training and earn more anyway; nothing else does both. z is the last "
            "digit of a telephone number.",
            "ols-controls",
            _confounded_table,
        ),
        Study(
            "instrument",
            "Health (y) is compared with hours of sport (x). People of a good constitution, which "
            "nobody measured, do more sport and are healthier anyway. Vouchers for a gym (z) were "
            "given by lot, lead to more sport and do nothing else. w is a colour that they like.",
            "iv",
            _instrument,
        ),
        Study(
            "panel",
            "Firms (unit) were observed six times each. Output (y) is compared with the use of a "
            "machine (x). Well led firms use more of it and produce more anyway; how well a firm "
            "is led does not change. w is a colour that its owner likes.",
            "fixed-effects",
            _panel,
        ),
        Study(
            "law",
            "A law was passed in some states (group 1) and not in others (group 0), between period "
            "0 and period 1. States differed before, and all changed for other reasons too, alike. "
            "What did the law do to y? x is 1 where and when it was in force.",
            "did",
            _law,
        ),
        Study(
            "threshold",
            "Pupils with a score of 0 or more got a grant (x is 1), the others did not. Later "
            "success (y) rises with the score in any case. What did the grant do to pupils at the "
            "threshold?",
            "rdd",
            _threshold,
        ),
    )
}


@lru_cache(maxsize=512)
def draw_table(name: str, rows: int, seed: int) -> Table:
    """The data of a study; nobody changes them."""
    rng = Rng.seeded(seed, 91)
    effect = rng.choice((-1, 1)) * (1 + 2 * rng.random())
    return STUDIES[name].draw(rng, rows, effect)


def estimate(table: Table, method: str) -> Estimate:
    """An estimate; raises ValueError for a method that needs a column which is not there."""
    needs, by = METHODS[method]
    missing = [name for name in needs if name not in table]
    if missing:
        raise ValueError(f"{method} needs the column {missing[0]!r}, which these data do not have")
    return by(table)
