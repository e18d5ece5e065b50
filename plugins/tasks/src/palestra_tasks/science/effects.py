"""Econometrics: find the effect of one thing on another in data that mislead.

The player reads how the data came about, looks at columns, runs estimators and reports an effect.
Each study has one method that fits (controls, an instrument, fixed effects, difference in
differences, a discontinuity); the others are biased. The score compares the report with the
estimate of that method on the same data: 1 - relative error, at least 0.

After "Can AI Master Econometrics? Evidence from Econometrics AI Agent on Expert-Level Tasks", 2025,
whose agent has tools for these methods and whose results are compared with published coefficients;
data and stories here are ours.

Checked: every estimator and standard error against statsmodels or by hand.

Left out: the authors' data sets, and published papers to reproduce.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from palestra import (
    Meta,
    OneOf,
    Option,
    Rng,
    ScriptedAgent,
    Text,
    TextAction,
    Turn,
    agent,
    environment,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Chart, Part, Series

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, Turns, solo
from palestra_tasks.science.econometrics import METHODS, STUDIES, Table, draw_table, estimate


class Look(TextAction, frozen=True):
    """Read the mean, the spread and the correlation with y of a column."""

    column: str


class Estimate(TextAction, frozen=True):
    """Run an estimator."""

    method: str


class Report(TextAction, frozen=True):
    """Report the effect: a number. This ends the episode."""

    effect: str


@dataclass(slots=True, kw_only=True)
class StudyState(TaskState):
    """The state of a study."""

    study: str
    seed: int
    report: str = ""


@environment(
    "tasks/Econometrics-v0",
    family="text",
    tags=("experiments", "hidden-information"),
    paper=(
        "Can AI Master Econometrics? Evidence from Econometrics AI Agent on Expert-Level Tasks "
        "(2025)"
    ),
    splits={"small-sample": {"rows": 60}, "large-sample": {"rows": 600}},
)
@dataclass(frozen=True)
class Econometrics(TaskGame[StudyState]):
    """One player estimates an effect with the method that fits how data came about.

    There are no numbered actions. The reward is 1 - relative error of the report, at least 0.
    """

    study: Annotated[
        Literal["controls", "instrument", "panel", "law", "threshold", "any"],
        Meta(description="how data came about; any: drawn from the seed"),
    ] = "any"
    rows: Annotated[int, Meta(ge=30, le=5000, description="rows of the data")] = 240
    turns: Turns = 8

    rules_text = """
        You estimate the effect of x on y, or of a law or a grant on y, from data. Read how the data
        came about and choose a method that fits.

        Look(column='w') shows a column's mean, standard deviation and correlation with y.
        Estimate(method='ols') runs an estimator and shows a coefficient with its standard error:
        ols (y on x), ols-controls (y on x and w), iv (two-stage least squares with z for x),
        fixed-effects (y on x, an intercept for each unit), did (difference in differences of group
        and period), rdd (the jump of y where score is 0, of lines within 0.5 on each side).
        Report(effect='1.5') ends the study. You are paid 1 less the relative error, at least 0.
    """
    action_types = (Look, Estimate, Report)

    def initial_state(self, seed: int | None = None) -> StudyState:
        rng = Rng.seeded(check_seed(seed))
        drawn = rng.choice(sorted(STUDIES))
        name = drawn if self.study == "any" else self.study
        return StudyState(rng=rng, study=name, seed=rng.word())

    def table(self, state: StudyState) -> Table:
        return draw_table(state.study, self.rows, state.seed)

    def statement(self, state: StudyState, seat: int) -> str:
        columns = ", ".join(sorted(self.table(state)))
        rows = len(self.table(state)["y"])
        return f"{STUDIES[state.study].story}\nColumns: {columns}; {rows} rows."

    def options(self, state: StudyState, seat: int) -> tuple[Option, ...]:
        return (
            Option(Look, {"column": OneOf(tuple(sorted(self.table(state))))}),
            Option(Estimate, {"method": OneOf(tuple(METHODS))}),
            Option(Report, {"effect": Text(40, ("1", "-1", "0", "NaN"))}),
        )

    def respond(self, state: StudyState, seat: int, action: Any) -> Reply:
        table = self.table(state)
        if isinstance(action, Report):
            state.report, state.closed = action.effect, True
            return Reply("The study is over.")
        if isinstance(action, Look):
            column, y = table[action.column], table["y"]
            mean, spread = float(column.mean()), float(column.std(ddof=1))
            both = float(((column - mean) * (y - y.mean())).mean())
            alike = both / max(1e-12, float(column.std() * y.std()))
            return Reply(
                f"{action.column}: mean {mean:.4f}, standard deviation {spread:.4f}, correlation "
                f"with y {alike:.4f}."
            )
        try:
            found = estimate(table, action.method)
        except ValueError as error:
            return Reply(f"Not possible: {error}.")
        facts = {"method": action.method, "value": found.value, "error": found.error}
        text = f"{action.method}: {found.value:.4f}, standard error {found.error:.4f}."
        return Reply(text, facts)

    def settle(self, state: StudyState) -> Final:
        method = STUDIES[state.study].method
        true = estimate(self.table(state), method).value
        try:
            said = float(state.report)
        except ValueError:
            said = math.nan
        if not math.isfinite(said):
            return solo(0.0, "No finite effect was reported.", method=method, estimate=true)
        score = max(0.0, 1 - abs(said - true) / abs(true))
        reason = f"The method that fits is {method}, with {true:.4f}; {said:g} was reported."
        return solo(score, reason, method=method, estimate=true)

    def determinize(self, state: StudyState, seat: int, rng: Rng) -> StudyState:
        """Draw other data of the same study."""
        copy = self.copy_for(state, seat)
        copy.seed = rng.word()
        return copy

    def picture(self, state: StudyState, seat: int | None) -> tuple[Part, ...]:
        shown = [past for past in state.past if past.reply.startswith(tuple(METHODS))]
        values = [float(past.reply.split(": ")[1].split(",")[0]) for past in shown]
        points = tuple((float(n + 1), value) for n, value in enumerate(values))
        return (Chart((Series("estimates", points, "points", 0),), "estimates"),) if points else ()


class _Analyst(ScriptedAgent[Econometrics]):
    """Runs one estimator and reports what it says."""

    def method(self, turn: Turn[Econometrics]) -> str:
        """The estimator to run."""
        return "ols"

    def choose(self, turn: Turn[Econometrics]) -> Any:
        for event in turn.transcript:
            if "value" in event.data:
                return Report(repr(float(event.data["value"])))
        return Estimate(self.method(turn))


@agent("econometrics-reader", kind="solver")
class Reader(_Analyst):
    """Runs the method that fits the story."""

    def method(self, turn: Turn[Econometrics]) -> str:
        position = turn.position
        return next(s.method for s in STUDIES.values() if position.startswith(s.story))


@agent("econometrics-naive", kind="scripted")
class Naive(_Analyst):
    """Regresses y on x, whatever the story."""
