"""Questions that are answered in threads, so that a slow answer holds up no other episode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, NamedTuple

from palestra.agents.answers import LateAnswer
from palestra.agents.asking import Answerer, Asking, answers_of, go_on
from palestra.runner.faults import as_exception

Settled = Callable[[Any, float], None]  # told the decision or an exception, and the seconds
PAUSE = 0.2  # seconds after which a wait lets Ctrl-C through, where the system would not


@dataclass(slots=True, eq=False)
class _Turn:
    """A turn that is being thought about, and the answers to its questions that have come."""

    asking: Asking
    settled: Settled
    limit: float
    started: float = field(default_factory=perf_counter)  # later by the time spent in queues
    queued: float | None = None  # since when no question of it is with whom it asks
    answers: list[Any] = field(default_factory=list)
    missing: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def due(self) -> float:
        return self.started + self.limit if self.queued is None else float("inf")

    def taken(self) -> None:
        """A question has left its queue; what it waited for others is not the turn's time."""
        with self.lock:
            if self.queued is not None:
                self.started += perf_counter() - self.queued
                self.queued = None


class _Asked(NamedTuple):
    """A question that waits, or its answer: whose it is, and its place among those of the turn."""

    line: _Line
    turn: _Turn
    place: int
    said: Any


class Calls:
    """Turns under way: their generators run here, and what they ask is answered in threads.

    All methods are called from one thread, in which the generators and `settled` run too.
    """

    def __init__(self) -> None:
        self._came: SimpleQueue[_Asked] = SimpleQueue()
        self._lines: dict[Answerer, _Line] = {}
        self._turns: set[_Turn] = set()

    def begin(self, asking: Asking, settled: Settled, seconds: float | None = None) -> None:
        """Ask what a turn asks first. seconds: the time limit of the turn, without what it waits
        for others that ask the same model.

        settled: called at once or by `hand_out` with the decision, or with the exception that ended
        the turn; a turn that takes too long ends with a `LateAnswer`.
        """
        turn = _Turn(asking, settled, float("inf") if seconds is None else seconds)
        self._turns.add(turn)
        self._go_on(turn, None)

    def hand_out(self, *, wait: bool) -> None:
        """Go on with the turns whose answers have come; wait: until there is one."""
        if not self._turns:
            return
        found = self._next() if wait else self._at_hand()
        if found is None:
            for turn in [turn for turn in self._turns if turn.due <= perf_counter()]:
                turn.asking.close()
                self._end(turn, LateAnswer("the time of the move is over"))
        while found is not None:
            self._take(found)
            found = self._at_hand()

    def _at_hand(self) -> _Asked | None:
        return None if self._came.empty() else self._came.get()

    def _next(self) -> _Asked | None:
        while (left := min(turn.due for turn in self._turns) - perf_counter()) > 0:
            try:
                return self._came.get(timeout=min(left, PAUSE))
            except Empty:
                continue
        return None

    def _take(self, came: _Asked) -> None:
        turn = came.turn
        came.line.open -= 1
        if turn not in self._turns:  # it took too long
            return
        turn.answers[came.place] = came.said
        turn.missing -= 1
        if not turn.missing:
            self._go_on(turn, turn.answers)

    def _go_on(self, turn: _Turn, heard: Sequence[Any] | None) -> None:
        try:
            while not (questions := go_on(turn.asking, heard)):
                heard = []
        except StopIteration as end:
            self._end(turn, end.value)
        except BaseException as error:
            self._end(turn, error)
        else:
            turn.answers, turn.missing = [None] * len(questions), len(questions)
            turn.queued = perf_counter()
            for place, (to, asked) in enumerate(questions):
                line = self._lines.get(to) or self._lines.setdefault(to, _Line(to, self._came))
                line.put(_Asked(line, turn, place, asked))

    def _end(self, turn: _Turn, said: Any) -> None:
        self._turns.discard(turn)
        turn.taken()
        turn.settled(said, perf_counter() - turn.started)

    def close(self) -> None:
        """End what is under way; threads end once they have their answers."""
        for turn in self._turns:
            turn.asking.close()
        self._turns.clear()
        for line in self._lines.values():
            line.close()


class _Line:
    """The questions for one answerer, and the threads in which it is called."""

    def __init__(self, to: Answerer, came: SimpleQueue[_Asked]) -> None:
        self.open = 0  # questions without an answer
        self._to, self._came = to, came
        self._waiting: SimpleQueue[_Asked | None] = SimpleQueue()
        self._threads = 0
        self._together = getattr(to, "together", to.concurrency == 1)

    def put(self, question: _Asked) -> None:
        self.open += 1
        self._waiting.put(question)
        if self._threads < min(self.open, self._to.concurrency):
            self._threads += 1
            # a daemon: after Ctrl-C, the end of the process waits for no answer
            context = copy_context()
            threading.Thread(target=context.run, args=(self._serve,), daemon=True).start()

    def _serve(self) -> None:
        while (asked := self._waiting.get()) is not None:
            batch = [asked]
            while self._together and not self._waiting.empty():
                more = self._waiting.get()
                if more is None:
                    self._waiting.put(None)
                    break
                batch.append(more)
            for one in batch:
                one.turn.taken()
            for one, answer in zip(batch, self._answers(batch), strict=True):
                self._came.put(one._replace(said=answer))

    def _answers(self, batch: Sequence[_Asked]) -> Sequence[Any]:
        try:
            return answers_of(self._to, [one.said for one in batch])
        except BaseException as error:
            return [as_exception(error)] * len(batch)

    def close(self) -> None:
        for _ in range(self._threads):
            self._waiting.put(None)
