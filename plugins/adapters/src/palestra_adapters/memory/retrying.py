"""Shows the inner agent its failed attempts at the same start: R³'s self-reflection in context.

"R³: Replay, Reflection, and Ranking Rewards for LLM Reinforcement Learning", 2026. The attempts
themselves are shown, and no other model call is made; `palestra_rewards.retrying` plays failed
tasks again with it. The wording is this package's own.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from palestra import Meta, Turn, agent

from palestra_adapters.memory.remembering import Remembering, Trial
from palestra_adapters.thinking import Thinking

TRIED = "You have tried this before from the same start, and failed. What you saw and did:"
REFLECT = (
    "Work out what went wrong in these attempts before you decide, and do not repeat their "
    "mistakes."
)
HISTORY = 1_000  # most attempts kept, over all starts


class FailedAttempt(msgspec.Struct):
    """A failed attempt: the start, what was seen and done, and the return."""

    task: str
    story: str
    returns: float


@agent(
    "retrying",
    kind="llm",
    summary="Reads its own failed attempts at the same start before it tries again.",
    paper=("R^3: Replay, Reflection, and Ranking Rewards for LLM Reinforcement Learning (2026)"),
)
class Retrying(Remembering):
    """Shows the inner agent its last `keep` failed attempts at this start of the environment.

    An attempt worth at least `enough`, from 0 to 1, is no failure, and makes it forget the start's
    failures.
    """

    def __init__(
        self,
        *,
        keep: Annotated[int, Meta(ge=1, description="failed attempts shown")] = 2,
        enough: Annotated[float, Meta(description="worth at which an attempt is no failure")] = 1.0,
        **settings: Any,
    ) -> None:
        self.attempts: list[FailedAttempt] = []
        super().__init__(**{"task": "seed", **settings})
        self._keep, self._enough = keep, enough

    def recall(self, turn: Turn) -> tuple[str, tuple[int, ...]]:
        task = self.task_of(turn)
        numbers = [n for n, one in enumerate(self.attempts) if one.task == task][-self._keep :]
        if not numbers:
            return "", ()
        told = [
            f"Attempt {place}, which was paid {self.attempts[n].returns:g}:\n"
            f"{self.attempts[n].story}"
            for place, n in enumerate(numbers, 1)
        ]
        return "\n\n".join([TRIED, *told, REFLECT]), tuple(numbers)

    def learn(self, trial: Trial) -> Thinking[None]:
        if trial.worth >= self._enough:
            self.attempts = [one for one in self.attempts if one.task != trial.task]
            return
        self.attempts.append(FailedAttempt(trial.task, trial.story, trial.returns))
        del self.attempts[:-HISTORY]
        yield from ()

    def memories(self) -> Any:
        return self.attempts

    def restore(self, memories: Any) -> None:
        self.attempts = msgspec.convert(memories, list[FailedAttempt])

    def clear(self) -> None:
        self.attempts.clear()
        self.waiting.clear()
