"""MemRL: an episodic memory that learns which of its entries help.

Retrieval has two phases: the entries most similar to the current task, then the most useful among
them. After the episode the utility Q of each entry shown moves towards the episode's worth,
Q += rate (r - Q), and the model writes a new entry about the episode. The model itself does not
change. "MemRL: Self-Evolving Agents via Runtime Reinforcement Learning on Episodic Memory", 2026.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from palestra import InvalidOption, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import one_line
from palestra_adapters.memory.remembering import Remembering, Trial
from palestra_adapters.similarity import similarity
from palestra_adapters.thinking import Thinking

WRITE = (
    "The episode is over. You were paid {returns:g}, {worth:.0%} of the way from the worst to the "
    "best there is. Write down in two sentences what you did and how well it went, as advice to "
    "one who plays from a position like your first."
)


class Experience(msgspec.Struct):
    """One experience: the position it is about, what to do there, and its utility from 0 to 1."""

    task: str
    intent: str
    text: str
    q: float
    number: int = 0
    uses: int = 0


@agent(
    "memrl",
    kind="llm",
    summary="A memory that learns which entries help.",
    paper=(
        "MemRL: Self-Evolving Agents via Runtime Reinforcement Learning on Episodic Memory (2026)"
    ),
)
class MemRL(Remembering):
    """Shows the inner agent the `shown` entries that were most useful in positions like this one.

    Phase one keeps the `near` most similar entries with a similarity of at least `alike`; phase two
    ranks them by (1 - trust) similarity + trust Q, both standardised. `rate` is the learning rate
    of utilities. At most `size` entries are kept; the least useful are dropped first.
    """

    def __init__(
        self,
        *,
        near: Annotated[int, Meta(ge=1, description="entries retrieved by similarity")] = 8,
        shown: Annotated[int, Meta(ge=1, description="entries shown to the inner agent")] = 2,
        alike: Annotated[float, Meta(description="least similarity of a retrieved entry")] = 0.3,
        trust: Annotated[
            float, Meta(ge=0, le=1, description="weight of utility against similarity")
        ] = 0.5,
        rate: Annotated[float, Meta(gt=0, le=1, description="learning rate of utilities")] = 0.3,
        size: Annotated[int, Meta(ge=1, description="most entries kept")] = 500,
        **settings: Any,
    ) -> None:
        if shown > near:
            raise InvalidOption(f"shown must be at most near, {near}, not {shown}")
        self.entries: dict[int, Experience] = {}  # by number
        self._next = 0  # numbers are never reused
        super().__init__(**settings)
        self._near, self._shown, self._alike = near, shown, alike
        self._trust, self._rate, self._size = trust, rate, size

    def recall(self, turn: Turn) -> tuple[str, tuple[int, ...]]:
        chosen = self.retrieve(self.task_of(turn), turn.position)
        if not chosen:
            return "", ()
        lines = [f"- {quote(self.entries[i].text)}" for i in chosen]
        return "\n".join(["What you remember of positions like this:", *lines]), tuple(chosen)

    def retrieve(self, task: str, intent: str) -> list[int]:
        """Numbers of the entries to show for a task, the best first."""
        alike = {
            i: similarity(intent, entry.intent)
            for i, entry in self.entries.items()
            if entry.task == task
        }
        near = sorted((i for i in alike if alike[i] >= self._alike), key=lambda i: -alike[i])
        near = near[: self._near]
        if not near:
            return []
        likeness = standardise([alike[i] for i in near])
        utility = standardise([self.entries[i].q for i in near])
        marks = (1 - self._trust) * likeness + self._trust * utility
        return [near[i] for i in np.argsort(-marks, kind="stable")[: self._shown]]

    def learn(self, trial: Trial) -> Thinking[None]:
        for entry in (self.entries[number] for number in trial.shown if number in self.entries):
            entry.q += self._rate * (trial.worth - entry.q)
            entry.uses += 1
        line = WRITE.format(returns=trial.returns, worth=trial.worth)
        text = one_line((yield from self.write(trial.rules, f"{trial.story}\n{line}")))
        self.add(Experience(trial.task, trial.start, text, trial.worth))

    def add(self, entry: Experience) -> None:
        """Add an entry; if there are too many, drop the least useful one."""
        entry.number = self._next
        self._next += 1
        self.entries[entry.number] = entry
        if len(self.entries) > self._size:
            del self.entries[min(self.entries, key=lambda number: self.entries[number].q)]

    def memories(self) -> Any:
        return list(self.entries.values())

    def restore(self, memories: Any) -> None:
        kept = msgspec.convert(memories, list[Experience])
        self.entries = {entry.number: entry for entry in kept}
        self._next = max(self.entries, default=-1) + 1

    def clear(self) -> None:
        self.entries.clear()
        self.waiting.clear()


def standardise(values: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Values scaled to mean 0 and standard deviation 1; all zeros if all are equal."""
    array = np.asarray(values, float)
    spread = array.std()
    return (array - array.mean()) / spread if spread > 1e-12 else np.zeros_like(array)
