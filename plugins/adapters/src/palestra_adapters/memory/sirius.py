"""SiriuS: a library of what every role said in successful episodes, with failures repaired.

Zhao et al., "SiriuS: Self-improving Multi-agent Systems via Bootstrapped Reasoning", 2025. A
successful episode gives every role's prompts and replies to the library. A failure is read by a
feedback agent that knows the outcome; the role tries the same start again with the feedback, and
the second try is kept only if it succeeds. What is kept does not mention the feedback. The library
is shown as examples, or exported for tuning, one set of rows per role.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from palestra import Decision, Meta, Turn, agent
from palestra.files import write_bytes
from palestra.quoting import quote

from palestra_adapters.adapter import one_line
from palestra_adapters.memory.remembering import Remembering, Trial
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

FEEDBACK = (
    "Above is an episode that you watched. The player was paid {returns:g}, {worth:.0%} of the way "
    "from the worst to the best there is. Tell the player in two sentences what was wrong and how "
    "to do it right, as advice for the same start."
)


class Said(msgspec.Struct):
    """One decision: what the role was asked, and its reply in words."""

    asked: str
    reply: str


class Experience(msgspec.Struct):
    """A successful episode of a role; `repaired` if it came from feedback on a failure."""

    role: str
    rules: str
    start: str
    said: list[Said]
    worth: float
    repaired: bool = False
    number: int = 0


class Memory(msgspec.Struct):
    """What the file holds."""

    library: list[Experience]
    feedback: dict[str, str]
    ended: list[list[Said]] = []  # of the trials that are not learnt from yet


@agent(
    "sirius",
    kind="llm",
    summary="Keeps what each role said in successful episodes, and repairs failures by feedback.",
    paper="SiriuS: Self-improving Multi-agent Systems via Bootstrapped Reasoning (2025)",
)
class Sirius(Remembering):
    """Shows `shown` successful episodes of the role, and feedback on a failed try of this start.

    An episode worth at least `enough`, from 0 to 1, is a success. The library keeps at most `size`
    episodes a role, the best ones. Failures are repaired when the same start comes again, as with
    `palestra.rollouts(…, live=1)`; with `repair=false` they are only forgotten. `export` writes the
    rows for tuning.
    """

    def __init__(
        self,
        *,
        enough: Annotated[float, Meta(ge=0, le=1, description="worth of a success")] = 1.0,
        shown: Annotated[int, Meta(ge=0, description="episodes shown as examples")] = 2,
        size: Annotated[int, Meta(ge=1, description="episodes kept a role")] = 50,
        repair: Annotated[bool, Meta(description="write feedback on failures")] = True,
        **settings: Any,
    ) -> None:
        self.library: list[Experience] = []
        self._feedback: dict[str, str] = {}
        self._said: dict[tuple[int, int], list[Said]] = {}
        self._ended: list[list[Said]] = []
        super().__init__(**settings)
        self._enough, self._shown, self._size, self._repair = enough, shown, size, repair

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        decision = yield from super().think(turn, advice)
        said = self._said.setdefault((turn.episode_key, turn.seat), [])
        reply = join_lines(decision.thought, decision.text or "")
        if turn.error and said:
            said.pop()  # an answer that was refused is no example
        said.append(Said(turn.text, reply))
        return decision

    def recall(self, turn: Turn) -> tuple[str, tuple[int, ...]]:
        role = self.task_of(turn)
        own = [one for one in self.library if one.role == role][-self._shown :]
        own = own if self._shown else []
        lines = [f"A successful episode:\n{_told(one)}" for one in own]
        feedback = self._feedback.get(_start(role, turn.position))
        if feedback:
            lines.append(f"Advice on your last try from this start: {quote(feedback)}")
        return "\n\n".join(lines), tuple(one.number for one in own)

    def learn(self, trial: Trial) -> Thinking[None]:
        said = self._ended.pop(0) if self._ended else []
        start = _start(trial.task, trial.start)
        if trial.worth >= self._enough:
            repaired = self._feedback.pop(start, None) is not None
            self._keep(trial, said, repaired)
        elif self._repair:
            asked = f"{trial.story}\n{FEEDBACK.format(returns=trial.returns, worth=trial.worth)}"
            self._feedback[start] = one_line((yield from self.write(trial.rules, asked)))

    def _keep(self, trial: Trial, said: list[Said], repaired: bool) -> None:
        number = max((one.number for one in self.library), default=-1) + 1
        made = Experience(trial.task, trial.rules, trial.start, said, trial.worth, repaired, number)
        self.library.append(made)
        own = [one for one in self.library if one.role == made.role]
        if len(own) > self._size:
            self.library.remove(min(own, key=lambda one: (one.worth, one.number)))

    def forget(self, episode_key: int) -> None:
        for key in self._turns.of(episode_key):
            self._ended.append(self._said.pop(key, []))
        super().forget(episode_key)

    def export(self, path: str | Path, role: str = "") -> int:
        """Write the library as JSON lines of messages for tuning; returns the number of rows.

        role: only this one's; by default all, each row with its role.
        """
        rows = [_row(one) for one in self.library if role in ("", one.role)]
        write_bytes(path, b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        return len(rows)

    def roles(self) -> Sequence[str]:
        """The roles in the library."""
        return list(dict.fromkeys(one.role for one in self.library))

    def memories(self) -> Any:
        return Memory(self.library, self._feedback, self._ended)

    def restore(self, memories: Any) -> None:
        kept = msgspec.convert(memories, Memory)
        self.library, self._feedback = kept.library, kept.feedback
        self._ended = kept.ended

    def clear(self) -> None:
        self.library.clear()
        self._feedback.clear()
        self._ended.clear()
        self.waiting.clear()


def _start(role: str, position: str) -> str:
    return f"{role}\n{position}"


def _told(one: Experience) -> str:
    return "\n".join(f"{said.asked}\nYou: {quote(said.reply)}" for said in one.said)


def _row(one: Experience) -> dict[str, Any]:
    messages = [{"role": "system", "content": one.rules}]
    for said in one.said:
        messages.append({"role": "user", "content": said.asked})
        messages.append({"role": "assistant", "content": said.reply})
    return {"role": one.role, "repaired": one.repaired, "worth": one.worth, "messages": messages}
