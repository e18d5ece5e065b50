"""Agents for econometrics: one reads how data came about, the others have a fixed recipe."""

from __future__ import annotations

from typing import Any

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.science.causes import Causes, Design
from palestra_tasks.science.econometrics import STUDIES
from palestra_tasks.science.effects import Econometrics, Estimate, Fit, Report
from palestra_tasks.science.studies import read_causes


class _Analyst(ScriptedAgent[Econometrics]):
    """Fits one design and reports what it says."""

    def method(self, position: str) -> str:
        """The estimator to run in a study of one text."""
        return "ols"

    def design(self, causes: Causes) -> Design:
        """The design in a composed study."""
        return Design()

    def choose(self, turn: Turn[Econometrics]) -> Any:
        value = next((e.data["value"] for e in turn.transcript if "value" in e.data), None)
        if "Fit(" not in turn.legal_text:
            return Estimate(self.method(turn.position)) if value is None else Report(repr(value))
        causes = read_causes(turn.position)
        design = self.design(causes)
        fields = {
            "controls": ", ".join(sorted(design.controls)),
            "instrument": design.instrument,
            "within": design.within,
            "window": design.window,
        }
        if value is None and not any(past.kind == "reveal" for past in turn.transcript):
            return Fit(of=causes.x, outcome=causes.y, **fields)
        return Report(effect=repr(value or 0.0), **fields)


@agent("econometrics-reader", kind="solver")
class Reader(_Analyst):
    """Runs the method that fits the story; in a composed study a design that identifies."""

    def method(self, position: str) -> str:
        return next(s.method for s in STUDIES.values() if position.startswith(s.story))

    def design(self, causes: Causes) -> Design:
        return causes.design or Design()


@agent("econometrics-naive", kind="scripted")
class Naive(_Analyst):
    """Regresses y on x, whatever the story."""


@agent("econometrics-controlling", kind="scripted")
class Controlling(_Analyst):
    """Controls for what is recorded of the causes of both, and takes out all constants.

    In a study of one text it controls for w where there is one.
    """

    def method(self, position: str) -> str:
        return "ols-controls" if " w, " in position.rpartition("Columns:")[2] else "ols"

    def design(self, causes: Causes) -> Design:
        x, y = (causes.ancestors((one,)) for one in (causes.x, causes.y))
        varying = {one for one, level in causes.levels.items() if level == "row"}
        controls = x & y & set(causes.columns) & varying - {causes.x}
        return Design(controls=frozenset(controls), within="both" if causes.panel else "none")
