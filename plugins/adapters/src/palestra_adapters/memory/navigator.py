"""Self-navigating: some rollouts are guided by experience from similar ones.

Zhai et al., "AgentEvolver: Towards Efficient Self-Evolving Agent System", 2025. This module has the
pool of experiences, retrieval by similarity, and the mix of guided and unguided rollouts. The
decisions of guided rollouts are marked, so that a trainer can remove the experience from its
training data (experience stripping). Selective boosting is left to the trainer.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from palestra import Decision, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.memory.remembering import Remembering, Trial
from palestra_adapters.similarity import similarity
from palestra_adapters.thinking import Thinking

WRITE = (
    "The episode is over. You were paid {returns:g}, {worth:.0%} of the way from the worst to the "
    "best there is. Write what somebody who comes here again should know, in two lines:\n"
    "When: what kind of start or question it is of use for\n"
    "Know: what to do or to avoid, and why"
)
STREAM = 0x9A71


class Experience(msgspec.Struct):
    """A lesson: when it is useful, its text, and the worth of the episode it comes from."""

    task: str
    when: str
    text: str
    worth: float
    number: int = 0


@agent(
    "navigator",
    kind="llm",
    summary="Guides a share of episodes by experiences from similar episodes.",
    paper="AgentEvolver: Towards Efficient Self-Evolving Agent System (2025)",
)
class Navigator(Remembering):
    """In `share` of episodes the inner agent is shown the experiences that fit its start best.

    After every episode the model writes an experience: when it is useful, and what to know. Whether
    an episode is guided is drawn at random; decisions carry the fact `led`, true or false, and
    `experience`, the text that the inner agent was shown.
    """

    def __init__(
        self,
        *,
        share: Annotated[
            float, Meta(ge=0, le=1, description="share of episodes that are guided")
        ] = 0.5,
        shown: Annotated[int, Meta(ge=1, description="experiences shown in an episode")] = 3,
        size: Annotated[int, Meta(ge=1, description="most experiences kept, the newest")] = 500,
        **settings: Any,
    ) -> None:
        self.pool: dict[int, Experience] = {}  # by number
        self._next = 0
        super().__init__(**settings)
        self._share, self._shown, self._size = share, shown, size

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        decision = yield from super().think(turn, advice)
        lines, _ = self._recalled[turn.episode_key, turn.seat]
        led = {"led": True, "experience": lines} if lines else {"led": False}
        decision.facts = {**decision.facts, **led}
        return decision

    def recall(self, turn: Turn) -> tuple[str, tuple[int, ...]]:
        drawn = turn.rng(self._seed, STREAM).word() / 2**32
        chosen = self.retrieve(self.task_of(turn), turn.position) if drawn < self._share else []
        if not chosen:
            return "", ()
        lines = [f"- {quote(self.pool[i].text)}" for i in chosen]
        return "\n".join(["What earlier episodes have taught:", *lines]), tuple(chosen)

    def retrieve(self, task: str, start: str) -> list[int]:
        """Numbers of the task's experiences whose `when` is most similar to a start, best first."""
        own = {i: similarity(start, e.when) for i, e in self.pool.items() if e.task == task}
        return sorted(own, key=lambda i: (-own[i], -i))[: self._shown]

    def learn(self, trial: Trial) -> Thinking[None]:
        line = WRITE.format(returns=trial.returns, worth=trial.worth)
        said = yield from self.write(trial.rules, f"{trial.story}\n{line}")
        when, text = read_experience(said)
        if not text:
            return
        found = Experience(trial.task, f"{when}\n{trial.start}", text, trial.worth, self._next)
        self.pool[self._next] = found
        self._next += 1
        while len(self.pool) > self._size:
            del self.pool[min(self.pool)]

    def memories(self) -> Any:
        return list(self.pool.values())

    def restore(self, memories: Any) -> None:
        kept = msgspec.convert(memories, list[Experience])
        self.pool = {one.number: one for one in kept}
        self._next = max(self.pool, default=-1) + 1

    def clear(self) -> None:
        self.pool.clear()
        self.waiting.clear()


def read_experience(text: str) -> tuple[str, str]:
    """The texts after `When:` and after `Know:`; without `Know:`, "" and the whole text."""
    before, marked, know = text.rpartition("Know:")
    when = before.partition("When:")[2] if marked else ""
    return " ".join(when.split()), " ".join((know if marked else text).split())
