"""Data to learn from, drawn from a seed: lines, curves, classes and series; and measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from palestra import Rng
from palestra.kernel.errors import show

from palestra_tasks.draws import normal

KINDS = ("line", "curve", "classes", "series")
TRAINING, VALIDATION, TEST = 80, 40, 60  # rows
SMALLEST = 1e-6  # probability that the log loss takes for less
PERIOD = 12  # of a series
FEATURES = {"line": 4, "curve": 3, "classes": 2, "series": 1}
MEANING = {
    "line": "a number from four others; scored by the root of the mean squared error",
    "curve": "a number from three others; scored by the root of the mean squared error",
    "classes": "a class, 0 or 1, from two numbers; scored by the share of wrong answers",
    "series": (
        "the next values of a monthly series from the month's number; scored by the root of the "
        "mean squared error"
    ),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows and what is to be predicted for each."""

    rows: tuple[tuple[Any, ...], ...]  # numbers; in projects also texts and None
    targets: tuple[float, ...]


@lru_cache(maxsize=256)
def draw_data(kind: str, seed: int) -> tuple[Sample, Sample, Sample]:
    """Rows to train with, to validate with, and of the hidden test."""
    rng = Rng.seeded(seed, 61)
    weights = [normal(rng, 0.0, 2.0) for _ in range(4)]
    spread = 0.3 + 0.5 * rng.random()
    count, pairs = TRAINING + VALIDATION + TEST, []
    for number in range(count):
        row = tuple(round(normal(rng), 3) for _ in range(FEATURES[kind]))
        if kind == "series":
            row = (float(number),)
        pairs.append((row, _target(kind, row, weights, spread, rng)))
    first, second = TRAINING, TRAINING + VALIDATION
    return _sample(pairs[:first]), _sample(pairs[first:second]), _sample(pairs[second:])


def _sample(pairs: Sequence[tuple[tuple[float, ...], float]]) -> Sample:
    return Sample(tuple(row for row, _ in pairs), tuple(target for _, target in pairs))


def _target(
    kind: str, row: tuple[float, ...], weights: list[float], spread: float, rng: Rng
) -> float:
    """What a row's world says of it, with noise."""
    if kind == "line":
        value = math.fsum(w * x for w, x in zip(weights, row, strict=True))
    elif kind == "curve":
        value = weights[0] + (1.5 + abs(weights[1])) * row[0] ** 2 + weights[2] * row[1] * row[2]
    elif kind == "classes":
        side = row[0] ** 2 + (1 + abs(weights[0])) * row[1] ** 2 + weights[1] * row[0] / 3 > 1.3
        return float(side != (rng.below(20) == 0))
    else:
        season = math.sin(2 * math.pi * (row[0] + weights[1]) / PERIOD)
        value = weights[0] + weights[2] / 60 * row[0] + (2 + abs(weights[3])) * season
    return round(value + normal(rng, 0.0, spread), 3)


def error(kind: str, predicted: Sequence[float], targets: Sequence[float]) -> float:
    """The error of predictions: the share that is wrong, or the root mean squared error."""
    pairs = list(zip(predicted, targets, strict=True))
    if kind == "classes":
        return sum(p != t for p, t in pairs) / len(pairs)
    return math.sqrt(math.fsum((p - t) ** 2 for p, t in pairs) / len(pairs))


def error_by(measure: str, predicted: Sequence[float], targets: Sequence[float]) -> float:
    """The error of predictions by a measure: rmse, mae, error, balanced or log."""
    pairs = list(zip(predicted, targets, strict=True))
    if measure == "rmse":
        return math.sqrt(math.fsum((p - t) ** 2 for p, t in pairs) / len(pairs))
    if measure == "mae":
        return math.fsum(abs(p - t) for p, t in pairs) / len(pairs)
    if measure == "error":
        return sum(p != t for p, t in pairs) / len(pairs)
    if measure == "log":
        held = [(min(max(p, SMALLEST), 1 - SMALLEST), t) for p, t in pairs]
        return -math.fsum(math.log(p if t else 1 - p) for p, t in held) / len(held)
    classes = sorted(set(targets))
    shares = [sum(p != t for p, t in pairs if t == c) / targets.count(c) for c in classes]
    return math.fsum(shares) / len(shares)


def problem_with(value: object, wanted: int) -> str:
    """Why a value is no list of predictions; empty if it is one."""
    if not isinstance(value, list) or len(value) != wanted:
        found = f"{len(value)} values" if isinstance(value, list) else type(value).__name__
        return f"predict must return a list of {wanted} numbers, not {found}"
    for place, one in enumerate(value):
        if isinstance(one, bool) or not isinstance(one, int | float):
            return f"prediction {place} is {show(one)}, which is no number"
        if not math.isfinite(one) or abs(one) > 1e12:
            return f"prediction {place} is {one!r}, which is no number of a usual size"
    return ""
