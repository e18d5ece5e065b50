"""Scripted agents of `tasks/OptiMUS-v0`."""

from __future__ import annotations

from typing import Any

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.algorithms.optimus import Clause, OptiMUS, Solve, story_of
from palestra_tasks.desk import Finish, Program


@agent("optimus-modeller", kind="solver")
class Modeller(ScriptedAgent[OptiMUS]):
    """Knows the stories, and writes the right model of each."""

    def choose(self, turn: Turn[OptiMUS]) -> Any:
        position = turn.position
        code = story_of(position).solution
        if "is solved" in position:
            return Finish()
        if turn.game.form == "whole":
            return Program("".join(code))
        for number, lines in enumerate(code):
            if lines.strip() not in position:
                return Clause(number, lines)
        return Solve()


@agent("optimus-relaxer", kind="scripted")
class Relaxer(ScriptedAgent[OptiMUS]):
    """Writes the right model but takes every variable as continuous: wrong where it matters."""

    def choose(self, turn: Turn[OptiMUS]) -> Any:
        position = turn.position
        code = tuple(c.replace("True", "False") for c in story_of(position).solution)
        if "is solved" in position:
            return Finish()
        if turn.game.form == "whole":
            return Program("".join(code))
        for number, lines in enumerate(code):
            if lines.strip() not in position:
                return Clause(number, lines)
        return Solve()
