"""Econometrics: find the effect of one thing on another in data that mislead.

The player reads how the data came about, looks at columns, runs estimators and reports an effect.

With `study="composed"` a graph of causes is drawn (`studies.py`) and told variable by variable: who
decided it from what, what nobody recorded, what is constant in a unit or a period, by which rule
rows are there. The player fits regressions with controls, an instrument, constants taken out or a
window around a cutoff, and reports an effect with its design. Half of the pay is for a design that
identifies the effect, whichever it is (`causes.py`), half for the distance from the true effect in
standard errors. `designs="rare"` has what training splits never have: cutoffs, laws, selected rows.

The other studies are five texts, a demonstration: each has one method that fits (controls, an
instrument, fixed effects, difference in differences, a discontinuity), and the score compares the
report with its estimate on the same data: 1 - relative error, at least 0.

After "Can AI Master Econometrics? Evidence from Econometrics AI Agent on Expert-Level Tasks", 2025,
whose agent has tools for these methods and whose results are compared with published coefficients;
data and stories here are ours.

Checked: every estimator and standard error against statsmodels or by hand; which designs identify
an effect by networkx and by estimates on many rows.

Left out: the authors' data sets, and published papers to reproduce.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from palestra import InvalidOption, Meta, OneOf, Option, Rng, Text, TextAction, environment
from palestra.kernel.actions import Domain
from palestra.kernel.errors import show
from palestra.kernel.rng import check_seed
from palestra.paragraphs import paragraphs
from palestra.scene import Chart, Part, Series

from palestra_tasks.desk import Final, Reply, TaskGame, TaskState, Turns, solo
from palestra_tasks.pictures import thinned
from palestra_tasks.science.causes import WINDOWS, WITHIN, Design
from palestra_tasks.science.econometrics import (
    METHODS,
    STUDIES,
    Array,
    Table,
    draw_table,
    estimate,
)
from palestra_tasks.science.studies import Data, Study, draw_data, fit, study_of, told

SIZES = {"small": 12, "medium": 12, "large": 14}  # of composed studies, and the turns of a split
FEWEST = 240  # rows of a composed study
NEAR, FAR = 2.0, 6.0  # standard errors up to which a report is paid in full, and from which nothing
_ESTIMATED = re.compile(r": (-?\d+\.\d+), standard error (\d+\.\d+)")
SHOWN = 150  # rows of the data that are drawn
FARTHEST = 1e6  # of an effect that is drawn
_EFFECT = Text(40, ("1", "-1", "0", "NaN"))


@dataclass(frozen=True, slots=True)
class Columns(Domain):
    """Some of the `names` of columns, or none, written as 'a, b'."""

    names: tuple[str, ...]

    def problem(self, value: object) -> str | None:
        if type(value) is not str:
            return f"must be a string of columns, as in {', '.join(self.names[:2])!r}"
        listed = value.split(", ") if value else []
        other = next((one for one in listed if one not in self.names), None)
        if other is None and len(set(listed)) == len(listed) <= len(self.names):
            return None
        what = "names a column twice" if other is None else f"names {show(other)}"
        return f"{what}; it is columns joined by ', ', from: {', '.join(self.names)}; or empty"

    def sample(self, rng: Rng) -> str:
        return ", ".join(one for one in self.names if rng.below(3) == 0)

    def pattern(self, chars: int) -> str:
        """Columns in the order in which they are listed."""
        if not self.names:
            return "''"
        starts = [
            re.escape(one) + "".join(f"(, {re.escape(other)})?" for other in self.names[place:])
            for place, one in enumerate(self.names, 1)
        ]
        return f"'({'|'.join(starts)})?'"

    def longest(self, chars: int) -> int:
        return len(repr(", ".join(self.names)).encode())

    def __str__(self) -> str:
        return "'columns joined by commas'"


class Look(TextAction, frozen=True):
    """Read the mean, the spread and the correlation with y of a column."""

    column: str


class Estimate(TextAction, frozen=True):
    """Run an estimator."""

    method: str


class Correlate(TextAction, frozen=True):
    """Read the correlation of two columns."""

    first: str
    second: str


class Fit(TextAction, frozen=True):
    """Regress the outcome on a column, with controls, an instrument, constants or a window."""

    of: str
    outcome: str
    controls: str = ""
    instrument: str = ""
    within: str = "none"
    window: str = "none"


class Report(TextAction, frozen=True):
    """Report the effect, a number, and the design that it is from. This ends the episode."""

    effect: str
    controls: str = ""
    instrument: str = ""
    within: str = "none"
    window: str = "none"


@dataclass(slots=True, kw_only=True)
class StudyState(TaskState):
    """The state of a study."""

    study: str
    seed: int
    word: int = 0  # from which a composed study is drawn
    report: Report | None = None


@environment(
    "tasks/Econometrics-v0",
    family="text",
    tags=("experiments", "hidden-information"),
    paper=(
        "Can AI Master Econometrics? Evidence from Econometrics AI Agent on Expert-Level Tasks "
        "(2025)"
    ),
    splits={
        "texts": {"study": "any", "rows": 240, "turns": 8},
        "small-sample": {"study": "any", "rows": 60, "turns": 8},
        "large-sample": {"study": "any", "rows": 600, "turns": 8},
        **{
            f"{held}{size}": {
                "study": "composed",
                "size": size,
                "designs": designs,
                "rows": 480,
                "turns": turns,
            }
            for held, designs in (("", "common"), ("held-out-", "rare"))
            for size, turns in SIZES.items()
        },
    },
)
@dataclass(frozen=True)
class Econometrics(TaskGame[StudyState]):
    """One player estimates an effect with a method that fits how data came about.

    There are no numbered actions. The reward is 1 - relative error of the report, at least 0; in
    composed studies half for a design that identifies the effect, half for a report near it.
    """

    study: Annotated[
        Literal["controls", "instrument", "panel", "law", "threshold", "any", "composed"],
        Meta(
            description="how data came about: one of five texts, a demonstration; any: one of them "
            "drawn from the seed; composed: by a graph of causes that is drawn"
        ),
    ] = "composed"
    size: Annotated[
        Literal["small", "medium", "large"], Meta(description="of the graph of a composed study")
    ] = "medium"
    designs: Annotated[
        Literal["all", "common", "rare"],
        Meta(
            description="what composed studies rest on; rare: cutoffs, laws and selected rows, "
            "held out"
        ),
    ] = "all"
    rows: Annotated[
        int, Meta(ge=30, le=5000, description="rows of the data; 240 or more if composed")
    ] = 480
    turns: Turns = 12

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
    shown_past = 1
    action_types = (Look, Correlate, Estimate, Fit, Report)

    def validate(self) -> None:
        composed = self.study == "composed"
        if not composed and (self.size, self.designs) != ("medium", "all"):
            raise InvalidOption(
                f"size={self.size!r} and designs={self.designs!r} are for study='composed'; set "
                "it, or leave them out"
            )
        if composed and self.rows < FEWEST:
            raise InvalidOption(
                f"rows={self.rows} is too few for study='composed'; give {FEWEST} to 5000"
            )

    def rules_for(self, seat: int) -> str:
        return paragraphs(COMPOSED_RULES) if self.study == "composed" else super().rules_for(seat)

    def initial_state(self, seed: int | None = None) -> StudyState:
        rng = Rng.seeded(check_seed(seed))
        drawn = rng.choice(sorted(STUDIES))
        name = drawn if self.study == "any" else self.study
        word = rng.word() if self.study == "composed" else 0
        return StudyState(rng=rng, study=name, seed=rng.word(), word=word)

    def composed(self, state: StudyState) -> Study:
        """The composed study of a state."""
        return study_of(self.size, self.designs, state.word)

    def data(self, state: StudyState) -> Data:
        """The data of a composed study."""
        return draw_data(self.composed(state), self.rows, state.seed)

    def table(self, state: StudyState) -> Table:
        if self.study == "composed":
            return self.data(state).columns
        return draw_table(state.study, self.rows, state.seed)

    def names(self, state: StudyState) -> tuple[str, ...]:
        """The columns of the data."""
        if self.study == "composed":
            return self.composed(state).causes.columns
        return tuple(sorted(self.table(state)))

    def outcome_of(self, state: StudyState) -> str:
        """The outcome."""
        return self.composed(state).causes.y if self.study == "composed" else "y"

    def statement(self, state: StudyState, seat: int) -> str:
        if self.study == "composed":
            return told(self.composed(state), self.rows)
        rows = len(self.table(state)["y"])
        return (
            f"{STUDIES[state.study].story}\nColumns: {', '.join(self.names(state))}; {rows} rows."
        )

    def options(self, state: StudyState, seat: int) -> tuple[Option, ...]:
        if self.study == "composed":
            causes = self.composed(state).causes
            return _composed_options(causes.columns, causes.panel, bool(causes.score))
        look = Option(Look, {"column": OneOf(self.names(state))})
        methods = OneOf(tuple(METHODS))
        return look, Option(Estimate, {"method": methods}), Option(Report, {"effect": _EFFECT})

    def respond(self, state: StudyState, seat: int, action: Any) -> Reply:
        if isinstance(action, Report):
            state.report, state.closed = action, True
            return Reply("The study is over.")
        table = self.table(state)
        if isinstance(action, Look):
            return self._look(state, action.column)
        if isinstance(action, Correlate):
            alike = _correlation(table[action.first], table[action.second])
            return Reply(f"Correlation of {action.first} and {action.second}: {alike:.4f}.")
        try:
            return (
                self._fit(state, action) if isinstance(action, Fit) else _estimated(table, action)
            )
        except ValueError as error:
            return Reply(f"Not possible: {error}.")

    def _look(self, state: StudyState, name: str) -> Reply:
        column, y = self.table(state)[name], self.outcome_of(state)
        mean, spread = float(column.mean()), float(column.std(ddof=1))
        alike = _correlation(column, self.table(state)[y])
        return Reply(
            f"{name}: mean {mean:.4f}, standard deviation {spread:.4f}, correlation with {y} "
            f"{alike:.4f}."
        )

    def _fit(self, state: StudyState, action: Fit) -> Reply:
        study, design = self.composed(state), design_of(action)
        if action.of == action.outcome:
            raise ValueError("a column is not regressed on itself; name another outcome")
        if action.instrument in (action.of, action.outcome):
            raise ValueError(f"{action.instrument} is in the regression; name another instrument")
        found = fit(study, self.data(state), design, action.of, action.outcome)
        first = f", first stage F {found.strength:.1f}" if action.instrument else ""
        text = (
            f"{action.of} on {action.outcome}: {found.value:.4f}, standard error "
            f"{found.error:.4f}{first}."
        )
        return Reply(text, {"value": found.value, "error": found.error})

    def settle(self, state: StudyState) -> Final:
        if self.study == "composed":
            return self._settle_composed(state)
        method = STUDIES[state.study].method
        true = estimate(self.table(state), method).value
        said = _number(state.report)
        if not math.isfinite(said):
            return solo(0.0, "No finite effect was reported.", method=method, estimate=true)
        score = max(0.0, 1 - abs(said - true) / abs(true))
        reason = f"The method that fits is {method}, with {true:.4f}; {said:g} was reported."
        return solo(score, reason, method=method, estimate=true)

    def _settle_composed(self, state: StudyState) -> Final:
        """Half for the design, half for the distance from the truth in standard errors."""
        study, data, said = self.composed(state), self.data(state), _number(state.report)
        if state.report is None or not math.isfinite(said):
            return solo(0.0, "No finite effect was reported.", effect=data.effect)
        causes = study.causes
        error = fit(study, data, causes.design or Design(), causes.x, causes.y).error
        facts: dict[str, Any] = {"effect": data.effect, "error": error}
        identified = causes.identifies(design_of(state.report))
        away = abs(said - data.effect) / error
        near = min(1.0, max(0.0, (FAR - away) / (FAR - NEAR)))
        reason = (
            f"The effect is {data.effect:.4f}; {said:g} was reported, {away:.1f} standard errors "
            f"away. The design {'identifies' if identified else 'does not identify'} it."
        )
        return solo((identified + near) / 2, reason, identified=identified, away=away, **facts)

    def determinize(self, state: StudyState, seat: int, rng: Rng) -> StudyState:
        """Draw other data of the same study; what was computed of the data is not drawn again."""
        copy = self.copy_for(state, seat)
        copy.seed = rng.word()
        return copy

    def picture(self, state: StudyState, seat: int | None) -> tuple[Part, ...]:
        """Estimates with two standard errors each way; spectators see the data and the truth."""
        found = [
            (float(m[1]), float(m[2]))
            for past in state.past
            if (m := _ESTIMATED.search(past.reply)) and abs(float(m[1])) < FARTHEST
        ]
        levels = [("reported", "gold", _number(state.report))]
        if seat is None:
            levels.append(("true", "green", self._truth(state)))
        end = float(max(2, self.turns))
        series = tuple(
            Series(name, ((1.0, value), (end, value)), "line", colour)
            for name, colour, value in levels
            if abs(value) < FARTHEST
        )
        middles = tuple((float(n), value) for n, (value, _) in enumerate(found, 1))
        if middles:
            series = (*series, Series("estimate", middles, "points", 0))
        reach = tuple(
            Series("", ((float(n), value - 2 * by), (float(n), value + 2 * by)), "line", 0)
            for n, (value, by) in enumerate(found, 1)
        )
        chart = Chart((*series, *reach), "effect, two errors each way", "estimate")
        shown = (chart,) if series else ()
        return (*shown, self._data_chart(state)) if seat is None else shown

    def _truth(self, state: StudyState) -> float:
        """The true effect; in the five texts the estimate by the method that fits."""
        if self.study == "composed":
            return float(self.data(state).effect)
        return estimate(self.table(state), STUDIES[state.study].method).value

    def _data_chart(self, state: StudyState) -> Chart:
        """The outcome by the cause, as the data have them, with a line that has the true slope."""
        table, outcome = self.table(state), self.outcome_of(state)
        cause = self.composed(state).causes.x if self.study == "composed" else "x"
        x, y = table[cause], table[outcome]
        points = tuple(zip(x[:SHOWN].tolist(), y[:SHOWN].tolist(), strict=True))
        slope, ends = self._truth(state), (float(x.min()), float(x.max()))
        line = tuple((end, float(y.mean()) + slope * (end - float(x.mean()))) for end in ends)
        series = (Series("data", points, "points", 0), Series("true slope", line, "line", "green"))
        return Chart(thinned(series), "data", cause, outcome)


@lru_cache(maxsize=1024)
def _composed_options(names: tuple[str, ...], panel: bool, cutoff: bool) -> tuple[Option, ...]:
    """The legal actions in a composed study, the same in every turn."""
    columns = OneOf(names)
    design: dict[str, Domain] = {
        "controls": Columns(names),
        "instrument": OneOf(("", *names)),
        "within": OneOf(tuple(WITHIN) if panel else ("none",)),
        "window": OneOf(WINDOWS if cutoff else ("none",)),
    }
    return (
        Option(Look, {"column": columns}),
        Option(Correlate, {"first": columns, "second": columns}),
        Option(Fit, {"of": columns, "outcome": columns, **design}),
        Option(Report, {"effect": _EFFECT, **design}),
    )


COMPOSED_RULES = """
    You estimate the effect of one variable on another from data. You read how each variable came
    about: what it follows from directly, and whether it was recorded. What a line does not name has
    no direct influence. Influences are straight lines that add up, each with a number that you do
    not know, unless a line says otherwise; and every variable has random noise of its own.

    Look(column='A') shows a mean, a standard deviation and the correlation with the outcome.
    Correlate(first='A', second='B') shows a correlation.

    Fit(of='A', outcome='B', controls='C, D', instrument='', within='none', window='none') regresses
    B on A and the controls by least squares and shows the coefficient of A with its standard error.
    With an instrument it is two-stage least squares, with the instrument for A, and shows the F of
    the first stage. In data of units that are each seen in several periods, within='unit' takes the
    mean of each unit out of every column, within='period' that of each period, within='both' both.
    Where a rule decides by whether a variable is 0 or more, window='0.6' has only rows in which it
    is at most 0.6 away from 0, and a line of it on each side of 0; a curve is near enough to two
    such lines up to 0.6.

    Report(effect='1.5', controls='C, D', instrument='', within='none', window='none') ends the
    study with the effect and the design that it is from. One half of the pay is for the design: you
    get it if the design would find the effect in endless data that came about as told. Every such
    design counts. The other half is for the number: all of it up to 2 standard errors from the true
    effect, nothing from 6 on; these are of one good design. Without a number you are paid nothing.
"""


def design_of(action: Fit | Report) -> Design:
    """The design that an action names."""
    controls = frozenset(action.controls.split(", ")) - {""}
    return Design(controls, action.instrument, action.within, action.window)


def _number(report: Report | None) -> float:
    """The effect that was reported; not a number if there is none."""
    try:
        return float(report.effect) if report else math.nan
    except ValueError:
        return math.nan


def _correlation(one: Array, other: Array) -> float:
    both = float(((one - one.mean()) * (other - other.mean())).mean())
    return both / max(1e-12, float(one.std() * other.std()))


def _estimated(table: Table, action: Estimate) -> Reply:
    found = estimate(table, action.method)
    facts = {"method": action.method, "value": found.value, "error": found.error}
    text = f"{action.method}: {found.value:.4f}, standard error {found.error:.4f}."
    return Reply(text, facts)
