"""Scripted agents of `tasks/OptiMUS-v0`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from palestra import InvalidOption, ScriptedAgent, Turn, agent

from palestra_tasks.algorithms.optimus import Clause, OptiMUS, Solve, shown, story_of
from palestra_tasks.algorithms.plans import Plan, model_of, program_of, read_plan
from palestra_tasks.desk import Finish, Program


@agent("optimus-modeller", kind="solver")
class Modeller(ScriptedAgent[OptiMUS]):
    """Knows the stories and the sentences of composed ones, and writes the right model of each."""

    def choose(self, turn: Turn[OptiMUS]) -> Any:
        position = turn.position
        if "is solved" in position:
            return Finish()
        if turn.game.data:
            raise InvalidOption(
                f"the modellers know the problems that {turn.env} tells itself, and data="
                f"{turn.game.data!r} has others; play another agent, or leave out data"
            )
        if turn.game.story == "composed":
            words, table = shown(position)
            code = tuple(program_of(model_of(self.read(read_plan(dict(table), words)))))
        else:
            code = story_of(position).solution
        code = tuple(map(self.write, code))
        if turn.game.form == "whole":
            return Program("".join(code))
        for number, lines in enumerate(code):
            if lines.strip() not in position:
                return Clause(number, lines)
        return Solve()

    def read(self, plan: Plan) -> Plan:
        """What it takes a composed problem to say."""
        return plan

    def write(self, code: str) -> str:
        """What it writes for the code of a clause."""
        return code


@agent("optimus-relaxer", kind="scripted")
class Relaxer(Modeller):
    """Writes the right model but takes every variable as continuous: wrong where it matters."""

    def write(self, code: str) -> str:
        return code.replace("True", "False")


@agent("optimus-hasty", kind="scripted")
class Hasty(Modeller):
    """Reads a composed problem but for the condition that is told last."""

    def read(self, plan: Plan) -> Plan:
        return replace(plan, parts=plan.parts[:-1])
