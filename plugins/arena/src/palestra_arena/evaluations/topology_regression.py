"""Topology regression: which team topology suits a task, from measures of coordination.

After "Towards a Science of Scaling Agent Systems" (2025). Teams of five topologies play the same
tasks on one budget. Each configuration is measured against the single agent: overhead (turns more),
efficiency (success per relative turns), error amplification, redundancy and message density. A
linear regression of performance on these and on properties of the task, with interactions, is
judged by its error on tasks that were left out, and picks a topology for them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from palestra import InvalidOption
from palestra.files import UNREADABLE
from scipy import stats

from palestra_arena.probes.tables import Table
from palestra_arena.statistics import Interval

TARGET, TASK, TOPOLOGY = "performance", "task", "topology"
Row = Mapping[str, Any]


class Coordination(NamedTuple):
    """What a team costs and gains against the single agent on the same tasks.

    overhead: turns more than the single agent's, as a share of them. efficiency: success per
    relative turns. amplification: the team's rate of errors over the single agent's.
    """

    overhead: float
    efficiency: float
    amplification: float


def coordination(
    success: float, turns: float, single_success: float, single_turns: float
) -> Coordination:
    """Measures of a team from mean successes (0 to 1) and mean turns; those of the single agent
    itself are 0, its own success and 1.
    """
    if not single_turns > 0 or not turns > 0:
        raise InvalidOption(f"turns must be above 0, not {turns} and {single_turns}")
    relative, errors = turns / single_turns, 1 - single_success
    amplified = (1 - success) / errors if errors > 0 else math.inf
    return Coordination(
        relative - 1, success / relative, 1.0 if success == single_success else amplified
    )


@dataclass(frozen=True, slots=True)
class Regression:
    """A fitted linear model; `terms` are "intercept", predictors, and products as "a:b".

    Coefficients are of standardised predictors (products of standardised ones), so that they can be
    compared. `r2_left_out` is R^2 on tasks that were left out of the fit, one after another;
    `picked` is the share of left-out tasks for which the topology with the best prediction is the
    best one.
    """

    terms: tuple[str, ...]
    coefficients: NDArray[np.float64]
    errors: NDArray[np.float64]
    p_values: NDArray[np.float64]
    r2: float
    r2_left_out: float
    picked: float
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    freedom: int

    def interval(self, term: str, confidence: float = 0.95) -> Interval:
        """A coefficient with Student's interval."""
        at = self.terms.index(term)
        half = float(stats.t.ppf((1 + confidence) / 2, self.freedom)) * float(self.errors[at])
        value = float(self.coefficients[at])
        return Interval(value, value - half, value + half)

    def predict(self, rows: Sequence[Row]) -> NDArray[np.float64]:
        """The predicted performance of configurations."""
        names = [term for term in self.terms[1:] if ":" not in term]
        design, *_ = _design(rows, names, _products(self.terms), self.centre, self.scale)
        return design @ self.coefficients

    def table(self, confidence: float = 0.95) -> Table:
        """Coefficients with intervals, and how well the model predicts."""
        return Table(
            "Topology regression",
            ("term", "coefficient", "p"),
            tuple(
                (term, self.interval(term, confidence), float(p))
                for term, p in zip(self.terms, self.p_values, strict=True)
            ),
            f"R^2 {self.r2:.3f}; {self.r2_left_out:.3f} on left-out tasks; the best topology is "
            f"picked for {self.picked:.0%} of them. Predictors are standardised.",
        )


def fit_regression(
    rows: Sequence[Row], predictors: Sequence[str], products: Sequence[tuple[str, str]] = ()
) -> Regression:
    """Fit performance on predictors and products of two of them, by ordinary least squares.

    rows: one configuration each, with `performance`, `task`, `topology` and a number for every
    predictor. Raises `InvalidOption` if there are not more rows than terms, or if predictors say
    the same in all rows.
    """
    design, centre, scale = _design(rows, predictors, products)
    target = _column(rows, TARGET)
    coefficients = _solve(design, target)
    residuals = target - design @ coefficients
    freedom = len(rows) - design.shape[1]
    variance = float(residuals @ residuals) / freedom
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * stats.t.sf(np.abs(coefficients / errors), freedom)
    left_out = _left_out(rows, predictors, products)
    return Regression(
        ("intercept", *predictors, *(f"{a}:{b}" for a, b in products)),
        coefficients,
        errors,
        p_values,
        _r2(target, target - residuals),
        _r2(target, left_out),
        _best_picks(rows, left_out),
        centre,
        scale,
        freedom,
    )


def _design(
    rows: Sequence[Row],
    predictors: Sequence[str],
    products: Sequence[tuple[str, str]],
    centre: ArrayLike | None = None,
    scale: ArrayLike | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Standardised columns with an intercept; centre and scale are the rows' own if not given."""
    raw = np.column_stack([_column(rows, name) for name in predictors])
    middle = raw.mean(axis=0) if centre is None else np.asarray(centre)
    spread = raw.std(axis=0) if scale is None else np.asarray(scale)
    spread = np.where(spread > 0, spread, 1.0)
    columns = dict(zip(predictors, ((raw - middle) / spread).T, strict=True))
    extra = [columns[a] * columns[b] for a, b in products]
    return np.column_stack([np.ones(len(rows)), *columns.values(), *extra]), middle, spread


def _column(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    try:
        values = np.array([float(row[name]) for row in rows])
    except (LookupError, TypeError, ValueError) as error:
        raise InvalidOption(f"every row needs a number for {name!r}: {error!r}") from error
    if not np.isfinite(values).all():
        raise InvalidOption(f"{name!r} has values that are not finite; leave those rows out")
    return values


def _products(terms: Sequence[str]) -> list[tuple[str, str]]:
    split = (term.split(":") for term in terms if ":" in term)
    return [(one, two) for one, two in split]


def _solve(design: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    rows, terms = design.shape
    if rows <= terms:
        raise InvalidOption(f"{rows} rows cannot fit {terms} terms; use fewer predictors")
    found, _, rank, _ = np.linalg.lstsq(design, target, rcond=None)
    if rank < terms:
        raise InvalidOption(
            "some predictors say the same in all rows, or do not vary; leave one of them out"
        )
    return np.asarray(found, np.float64)


def _left_out(
    rows: Sequence[Row], predictors: Sequence[str], products: Sequence[tuple[str, str]]
) -> NDArray[np.float64]:
    """The prediction of every row by a fit without the rows of its task."""
    tasks = [row[TASK] for row in rows]
    if len(set(tasks)) < 2:
        raise InvalidOption("leaving tasks out takes rows of at least two tasks")
    predicted = np.empty(len(rows))
    for task in dict.fromkeys(tasks):
        kept = [row for row in rows if row[TASK] != task]
        out = [number for number, one in enumerate(tasks) if one == task]
        design, centre, scale = _design(kept, predictors, products)
        coefficients = _solve(design, _column(kept, TARGET))
        asked, *_ = _design([rows[i] for i in out], predictors, products, centre, scale)
        predicted[out] = asked @ coefficients
    return predicted


def _r2(target: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    total = float(((target - target.mean()) ** 2).sum())
    return 1 - float(((target - predicted) ** 2).sum()) / total if total else math.nan


def _best_picks(rows: Sequence[Row], predicted: NDArray[np.float64]) -> float:
    """The share of tasks whose best topology, by mean performance, is predicted to be the best."""
    hits = []
    target = _column(rows, TARGET)
    for task in dict.fromkeys(row[TASK] for row in rows):
        own = [i for i, row in enumerate(rows) if row[TASK] == task]
        kinds = sorted({str(rows[i][TOPOLOGY]) for i in own})
        means = [
            max(kinds, key=lambda kind: np.mean([y[i] for i in own if rows[i][TOPOLOGY] == kind]))
            for y in (target, predicted)
        ]
        hits.append(means[0] == means[1])
    return float(np.mean(hits))


def read_configurations(path: str | Path) -> list[dict[str, Any]]:
    """Rows from a CSV file with the columns task, topology, performance and predictors.

    Raises `InvalidOption` if it has none of them.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
    except (OSError, csv.Error, *UNREADABLE) as error:
        raise InvalidOption(f"{path} cannot be read: {error}; bring a CSV file") from error
    missing = sorted({TASK, TOPOLOGY, TARGET} - set(rows[0] if rows else ()))
    if missing:
        raise InvalidOption(
            f"{path} has no column {missing[0]!r}; it needs task, topology, performance, and a "
            "column for every predictor"
        )
    return rows
