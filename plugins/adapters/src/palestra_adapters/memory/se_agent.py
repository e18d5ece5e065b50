"""SE-Agent: trajectories of one task are revised, recombined and refined.

Lin et al., "SE-Agent: Self-Evolution Trajectory Optimization in Multi-Step Reasoning with LLM-Based
Agents", 2025. The first trials of a start follow strategies that must differ. Then every trial is
revised once by reflection on what went wrong in it; then the best trials are recombined, each with
another; then the best is refined, without its detours. The best trial of all guides the rest.

Left out: several models in the pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from palestra import Meta, Turn, agent

from palestra_adapters.adapter import one_line
from palestra_adapters.memory.remembering import Remembering, Trial
from palestra_adapters.thinking import Thinking

DIFFER = (
    "Others will try the task above with these approaches:\n{known}\n\nWrite an approach that "
    "differs from all of them in its idea, in at most four sentences."
)
REVISE = (
    "This was a try of the task above, paid {paid:g}, with the approach {approach!r}:\n{story}\n\n"
    "Find what went wrong and what the approach overlooked. Write a revised approach, in at most "
    "four sentences."
)
RECOMBINE = (
    "Two tries of the task above. One was paid {paid:g}:\n{story}\n\nThe other was paid "
    "{other_paid:g}:\n{other}\n\nWrite an approach that joins the strong parts of both, in at most "
    "four sentences."
)
REFINE = (
    "This was the best try of the task above, paid {paid:g}:\n{story}\n\nWrite the approach that "
    "leads to the same result without detours and risks, in at most four sentences."
)
PHASES = ("differ", "revise", "recombine", "refine", "best")


class Attempt(msgspec.Struct):
    """A finished trial: the approach it followed, what it saw, and what it was paid."""

    approach: str
    story: str
    paid: float


class Line(msgspec.Struct):
    """The trials of one start, and the approach of the next one."""

    attempts: list[Attempt] = []
    approach: str = ""


@agent(
    "se-agent",
    kind="llm",
    summary="Revises, recombines and refines the trials of one start.",
    paper=(
        "SE-Agent: Self-Evolution Trajectory Optimization in Multi-Step Reasoning with LLM-Based "
        "Agents (2025)"
    ),
)
class SEAgent(Remembering):
    """`pool` different trials, `pool` revisions, `joins` recombinations, one refinement.

    After these 2 * pool + joins + 1 trials it plays on by the approach of the best of them. Trials
    belong to one start (`task=seed`) unless `task=env`. Play them one after the other:
    `palestra.rollouts(…, live=1)`.
    """

    def __init__(
        self,
        *,
        pool: Annotated[int, Meta(ge=1, description="trials with different approaches")] = 3,
        joins: Annotated[int, Meta(ge=0, description="recombinations of two trials")] = 2,
        **settings: Any,
    ) -> None:
        self.lines: dict[str, Line] = {}
        settings.setdefault("task", "seed")
        super().__init__(**settings)
        self._pool, self._joins = pool, joins

    def recall(self, turn: Turn) -> tuple[str, tuple[int, ...]]:
        line = self.lines.setdefault(self.task_of(turn), Line())
        if not line.approach:
            return "", ()
        return f"Your approach to this task: {line.approach}", (len(line.attempts),)

    def phase(self, number: int) -> str:
        """What the trial of a number, from 0, is for."""
        steps = (self._pool, self._pool, self._joins, 1)
        for name, count in zip(PHASES, steps, strict=False):
            if number < count:
                return name
            number -= count
        return PHASES[-1]

    def learn(self, trial: Trial) -> Thinking[None]:
        line = self.lines.setdefault(trial.task, Line())
        line.attempts.append(Attempt(line.approach, trial.story, trial.returns))
        number = len(line.attempts)
        phase = self.phase(number)
        if phase == "best":
            line.approach = self.best(line.attempts).approach
            return
        asked = self.prompt(phase, number, line.attempts)
        text = f"{trial.start}\n\n{asked}"
        line.approach = one_line((yield from self.write(trial.rules, text, max_tokens=256)))

    def prompt(self, phase: str, number: int, attempts: Sequence[Attempt]) -> str:
        """The question that leads to the approach of the trial of a number, from 0."""
        if phase == "differ":
            known = "\n".join(f"- {one.approach or 'as it comes'}" for one in attempts)
            return DIFFER.format(known=known)
        if phase == "revise":
            old = attempts[number - self._pool]
            return REVISE.format(paid=old.paid, approach=old.approach, story=old.story)
        ranked = sorted(attempts, key=lambda one: -one.paid)
        if phase == "recombine":
            join = 1 + (number - 2 * self._pool) % max(1, len(ranked) - 1)
            first, second = ranked[0], ranked[min(join, len(ranked) - 1)]
            return RECOMBINE.format(
                paid=first.paid, story=first.story, other_paid=second.paid, other=second.story
            )
        return REFINE.format(paid=ranked[0].paid, story=ranked[0].story)

    @staticmethod
    def best(attempts: Sequence[Attempt]) -> Attempt:
        """The best-paid attempt; of equals the latest."""
        return max(reversed(attempts), key=lambda one: one.paid)

    def memories(self) -> Any:
        return self.lines

    def restore(self, memories: Any) -> None:
        self.lines = msgspec.convert(memories, dict[str, Line])

    def clear(self) -> None:
        self.lines.clear()
        self.waiting.clear()
