"""Reflection across episodes: after each one the model writes what to do better.

Shinn et al., "Reflexion: Language Agents with Verbal Reinforcement Learning", NeurIPS 2023. With
`retro`, another model writes, and each reflection is credited with how much better the next
episode of the task went: Yao et al., "Retroformer: Retrospective Large Language Agents with Policy
Gradient Optimization", ICLR 2024. Prompts, reflections and credits are kept for its training.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from palestra import Meta, Turn, agent, open_model
from palestra.agents.models import Model
from palestra.quoting import quote

from palestra_adapters.adapter import one_line
from palestra_adapters.memory.remembering import Remembering, Trial
from palestra_adapters.thinking import Thinking

REFLECT = (
    "The episode is over. You were paid {returns:g}, {worth:.0%} of the way from the worst to the "
    "best there is. In two sentences: what was the decisive mistake, and what will you do "
    "differently next time?"
)


HISTORY = 1_000  # most lessons kept, over all tasks


class Lesson(msgspec.Struct):
    """A reflection: its prompt, the return before it and, once known, the return after it."""

    task: str
    prompt: str
    text: str
    before: float
    after: float | None = None
    number: int = 0

    @property
    def credit(self) -> float | None:
        """The rise of the return in the next episode of the task, Retroformer's reward, or None."""
        return None if self.after is None else self.after - self.before


@agent(
    "reflexion",
    kind="llm",
    summary="Learns from reflections that it writes after episodes.",
    paper=(
        "Shinn et al. (2023), Reflexion: Language Agents with Verbal Reinforcement "
        "Learning; Retroformer: Retrospective Large Language Agents with Policy Gradient "
        "Optimization (2024)"
    ),
)
class Reflexion(Remembering):
    """Shows the inner agent its last `keep` reflections on the task.

    An episode worth at least `enough`, from 0 to 1, gets no reflection. retro: the URI of another
    model that writes the reflections.
    """

    def __init__(
        self,
        *,
        keep: Annotated[int, Meta(ge=1, description="reflections shown on a task")] = 3,
        enough: Annotated[
            float, Meta(description="worth at which an episode needs no reflection")
        ] = 1.0,
        retro: Annotated[
            str | Model, Meta(description="URI of another model that writes reflections")
        ] = "",
        **settings: Any,
    ) -> None:
        self.lessons: dict[int, Lesson] = {}  # by number
        super().__init__(**settings)
        self._keep, self._enough, self._writer = keep, enough, 0
        if retro:
            self._writer = len(self.models)
            writer = open_model(retro) if isinstance(retro, str) else retro
            self.models = [*self.models, writer]

    def recall(self, turn: Turn) -> tuple[str, tuple[int, ...]]:
        task = self.task_of(turn)
        shown = [i for i, lesson in self.lessons.items() if lesson.task == task][-self._keep :]
        if not shown:
            return "", ()
        lines = [f"- {quote(self.lessons[i].text)}" for i in shown]
        return "\n".join(["What you learnt from earlier episodes:", *lines]), tuple(shown)

    def learn(self, trial: Trial) -> Thinking[None]:
        newest = self.lessons.get(trial.shown[-1]) if trial.shown else None
        if newest is not None and newest.after is None:
            newest.after = trial.returns
        if trial.worth >= self._enough:
            return
        line = REFLECT.format(returns=trial.returns, worth=trial.worth)
        prompt = f"{trial.story}\n{line}"
        text = one_line((yield from self.write(trial.rules, prompt, member=self._writer)))
        number = max(self.lessons, default=-1) + 1
        lesson = Lesson(trial.task, prompt, text, trial.returns, number=number)
        self.lessons[number] = lesson
        while len(self.lessons) > HISTORY:
            del self.lessons[min(self.lessons)]

    def memories(self) -> Any:
        return list(self.lessons.values())

    def restore(self, memories: Any) -> None:
        kept = msgspec.convert(memories, list[Lesson])
        self.lessons = {lesson.number: lesson for lesson in kept}

    def clear(self) -> None:
        self.lessons.clear()
        self.waiting.clear()
