"""Agents that learn from finished episodes and keep memories across them.

A finished episode waits as a `Trial`. Before the next decision the model reads all trials in shared
calls, and what it writes is kept; the usage is added to that decision's.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from palestra import Decision, InvalidOption, Meta, RecordError, Rng, Turn
from palestra.files import UNREADABLE, read_json, write_bytes
from palestra.kernel.errors import show

from palestra_adapters.search.spots import Worths
from palestra_adapters.thinking import Thinking, Thread, charge, think_together
from palestra_adapters.wrapper import Wrapper

Task = Literal["env", "seed"]


class Trial(msgspec.Struct, forbid_unknown_fields=True):
    """One seat's finished episode: what it saw, its return, and the memories it was shown.

    `worth` is the return scaled to [0, 1] by the game's bounds, or by the least and greatest return
    seen so far.
    """

    task: str
    rules: str
    start: str
    story: str
    returns: float
    worth: float
    shown: tuple[int, ...] = msgspec.field(
        default=(), name="told"
    )  # numbers of memories; "told" in files


class Kept(msgspec.Struct, forbid_unknown_fields=True):
    """A file of memories, and of trials that were not learnt from yet."""

    memories: Any
    waiting: list[Trial]


def named_file(memory: str) -> Path:
    """The file of memories, which need not exist yet."""
    try:
        path = Path(memory).expanduser()
        path.stat()
    except FileNotFoundError:
        return path
    except (OSError, ValueError, RuntimeError) as error:  # too long, a NUL, no such user
        raise InvalidOption(f"memory must be the name of a file, not {show(memory)}") from error
    return path


class Remembering(Wrapper):
    """Tells the inner agent what it remembers, and learns from every episode that ends.

    Memories belong to an environment and seat, or to one start of it. `clear` forgets everything.
    """

    def __init__(
        self,
        *,
        task: Annotated[
            Task, Meta(description="what memories belong to: an environment and seat, or a start")
        ] = "env",
        memory: Annotated[
            str, Meta(description="the JSON file that keeps them; empty: they end with the agent")
        ] = "",
        **settings: Any,
    ) -> None:
        if task not in ("env", "seed"):
            raise InvalidOption(f"task must be env or seed, not {task!r}")
        super().__init__(**settings)
        self._task, self._file = task, named_file(memory) if memory else None
        self._turns = self.by_seat(Turn)
        self._recalled: dict[tuple[int, int], tuple[str, tuple[int, ...]]] = {}
        self._starts: dict[tuple[int, int], str] = {}
        self._worths = Worths()
        self.waiting: list[Trial] = []
        if self._file is not None and self._file.exists():
            self._load(self._file)

    @abstractmethod
    def recall(self, turn: Turn) -> tuple[str, tuple[int, ...]]:
        """What to tell the inner agent in this episode, and the numbers of the memories used."""

    @abstractmethod
    def learn(self, trial: Trial) -> Thinking[None]:
        """Learn from a finished episode."""

    @abstractmethod
    def memories(self) -> Any:
        """All memories as plain data."""

    @abstractmethod
    def restore(self, memories: Any) -> None:
        """Restore memories from the data of `memories`."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    def task_of(self, turn: Turn) -> str:
        seed = f"#{turn.start_key}" if self._task == "seed" else ""
        return f"{turn.env}{seed} {turn.game.players[turn.seat]}"

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        spent = self.study()
        decisions = super().act(turns)
        if decisions:
            charge(decisions[0], spent)
        return decisions

    def study(self) -> Decision:
        """Learn from the episodes that have ended since the last call; returns what it cost."""
        trials, self.waiting = self.waiting, []
        spent = Decision()
        if not trials:
            return spent
        threads = [
            Thread(self.drawing(Rng.seeded(self._seed, stream=number), self._lesson(trial)))
            for number, trial in enumerate(trials)
        ]
        for lesson in think_together(self.models, threads):
            charge(spent, lesson)
        self.save()
        return spent

    def _lesson(self, trial: Trial) -> Thinking[Decision]:
        yield from self.learn(trial)
        return Decision()

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        self._turns[key] = turn
        if key not in self._recalled:
            self._recalled[key] = self.recall(turn)
            self._starts[key] = turn.position
        return (yield from self.inner.think_alone(turn, advice, self._recalled[key][0]))

    def forget(self, episode_key: int) -> None:
        for key in self._turns.of(episode_key):
            turn = self._turns.pop(key)
            _, shown = self._recalled.pop(key)
            self.waiting.append(self._trial(turn, self._starts.pop(key), shown))
        super().forget(episode_key)

    def _trial(self, turn: Turn, start: str, shown: tuple[int, ...]) -> Trial:
        story = "\n".join(event.text for event in turn.transcript)
        rules, worth = turn.game.rules_for(turn.seat), self._worths.of(turn)
        return Trial(self.task_of(turn), rules, start, story, float(turn.returns), worth, shown)

    def close(self) -> None:
        self.save()
        super().close()

    # The file

    def save(self) -> None:
        """Write memories, and trials not learnt from yet, to the file."""
        if self._file is None:
            return
        kept = Kept(self.memories(), self.waiting)
        write_bytes(self._file, msgspec.json.format(msgspec.json.encode(kept)))

    def _load(self, file: Path) -> None:
        try:
            kept = read_json(file, Kept)
            self.restore(kept.memories)
            self.waiting = kept.waiting
        except (OSError, *UNREADABLE) as error:
            raise RecordError(file, 1, f"not a memory of this agent: {error}", 0) from error
