"""ARCANE: a rubric for a task, with weights that can be changed while it is in use.

"ARCANE: A Multi-Agent Framework for Interpretable and Configurable Alignment".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import EpisodeRecord, InvalidOption, UnknownName

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.judges.scale import check
from palestra_rewards.judges.service import Judge, ask
from palestra_rewards.judges.showing import as_text

LINE = re.compile(
    r"^[^\S\n]*+[-*]?[^\S\n]*+(\d{1,9}(?:\.\d+)?)[^\S\n]*+\|[^\S\n]*+(.+)", re.MULTILINE
)
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing a stakeholder cares about, scored from 0 to 1 by a program or by a judge."""

    name: str
    weight: float = 1.0
    program: Callable[[EpisodeRecord], float] | None = None


class Rubric:
    """Weighted criteria; `judge` answers those without a program, on cited evidence."""

    def __init__(self, criteria: Sequence[Criterion], judge: Judge | None = None) -> None:
        if not criteria or (judge is None and any(c.program is None for c in criteria)):
            raise InvalidOption("a rubric needs criteria, and a judge for those without a program")
        self.criteria, self.judge = tuple(criteria), judge
        self.weights: dict[str, float] = {}
        self.set_weights({one.name: one.weight for one in criteria})

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Change weights by name; later scores use them without new requests to the judge."""
        names = [one.name for one in self.criteria]
        for name, weight in weights.items():
            if name not in names:
                raise UnknownName("criterion", name, names)
            if not weight >= 0:
                raise InvalidOption(f"a weight must be 0 or more; {name!r} has {weight}")
        self.weights |= {name: float(weight) for name, weight in weights.items()}

    def marks(self, record: EpisodeRecord) -> Floats:
        """How far each criterion is met, from 0 to 1; shape (criteria,)."""
        judged = [one.name for one in self.criteria if one.program is None]
        answers = check(self.judge, as_text(record), judged) if self.judge and judged else []
        yes = {name: float(answer.yes) for name, answer in zip(judged, answers, strict=True)}
        return floats([c.program(record) if c.program else yes[c.name] for c in self.criteria])

    def score(self, record: EpisodeRecord) -> float:
        """The weighted mean of the marks; 0 if all weights are 0."""
        weights = floats([self.weights[one.name] for one in self.criteria])
        total = weights.sum()
        return float(weights @ self.marks(record) / total) if total else 0.0


def write_rubric(judge: Judge, task: str, wishes: str) -> Rubric:
    """The rubric that a model writes for a task and the wishes of its stakeholder."""
    order = (
        f"Task: {task}\nThe stakeholder says: {wishes}\nWrite the criteria to judge the work by, "
        "each one a yes-or-no question, one per line: weight from 0 to 1 | question"
    )
    (text,) = judge.ask([ask(order, max_tokens=256)])
    found = {name.rstrip(): float(weight) for weight, name in LINE.findall(text)}
    if not found:
        raise InvalidOption(
            f"{judge.model.name} wrote no line 'weight | question'; it said {text[:200]!r}"
        )
    return Rubric([Criterion(name, weight) for name, weight in found.items()], judge)


def fit_weights(marks: Any, pairs: Any, *, price: float = 0.01) -> Floats:
    """Weights that best predict a stakeholder's preferences, by coordinate search from all ones.

    `marks` have shape (outputs, criteria), `pairs` are (better, worse) outputs. Maximises the share
    of pairs that the weighted marks order correctly, minus `price` for each criterion in use.
    """
    table, sides = floats(marks), np.asarray(pairs, dtype=np.int64)
    if table.ndim != 2 or sides.ndim != 2 or sides.shape[1] != 2:
        raise InvalidOption("marks must have shape (outputs, criteria), and pairs (n, 2)")
    apart = table[sides[:, 0]] - table[sides[:, 1]]

    def value(weights: Floats) -> float:
        return float((apart @ weights > 1e-12).mean() - price * (weights > 0).sum())

    weights, best = np.ones(table.shape[1]), -np.inf
    while (now := value(weights)) > best:
        best = now
        for place in range(weights.size):
            tried = [np.where(np.arange(weights.size) == place, w, weights) for w in GRID]
            weights = max([weights, *tried], key=value)
    return floats(weights)
