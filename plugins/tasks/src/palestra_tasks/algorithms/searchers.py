"""Scripted agents of `tasks/COBench-v0`."""

from __future__ import annotations

from typing import Any

from palestra import ScriptedAgent, Turn, agent

from palestra_tasks.algorithms.cobench import COBench
from palestra_tasks.combinatorial.problem import PROBLEMS
from palestra_tasks.desk import Finish, Program


class _Writer(ScriptedAgent[COBench]):
    """Hands in one known program for the problem that it reads, then finishes."""

    which = "greedy"

    def choose(self, turn: Turn[COBench]) -> Any:
        if any("scores" in event.data for event in turn.transcript):
            return Finish()
        (kind,) = [p for p in PROBLEMS.values() if turn.position.startswith(p.statement)]
        return Program(getattr(kind, self.which))


@agent("cobench-greedy", kind="scripted")
class GreedyWriter(_Writer):
    """Hands in a textbook heuristic for each problem, with local search for most."""


@agent("cobench-trivial", kind="scripted")
class TrivialWriter(_Writer):
    """Hands in a program whose answers are simple and poor."""

    which = "trivial"
