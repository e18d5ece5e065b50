"""Where matches are played: in this process, or in worker processes that may be lost.

A worker that ends or hangs is replaced, and the seat that was thinking forfeits. Where a signal
killed it, which may have come from outside, the game is first played once more.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from palestra import InvalidOption

from palestra_arena.match import Match
from palestra_arena.referee import ASKED, STARTED, Factories, Played, Referee, can_interrupt
from palestra_arena.settings import Settings

Task = tuple[Match, ...]
GRACE = 2.0  # seconds beyond the limit before a process that did not stop is killed
POLL = 0.25
LOSSES = 2  # processes that may be lost over one game


def group(matches: Iterable[Match], together: int) -> list[Task]:
    """Up to `together` matches of one line-up a task, in their order."""
    tasks: list[list[Match]] = []
    last: dict[tuple[Any, ...], list[Match]] = {}
    for match in matches:
        lineup = match.environment.label, match.agents, match.round
        task = last.get(lineup)
        if task is None or len(task) >= together:
            task = last[lineup] = []
            tasks.append(task)
        task.append(match)
    return [tuple(task) for task in tasks]


class InlineEngine:
    """Plays in this process; `game_seconds` then needs the main thread."""

    def __init__(self, settings: Settings, factories: Factories) -> None:
        if settings.game_seconds and not can_interrupt():
            raise InvalidOption(
                "game_seconds cannot be kept in this thread; set workers to 1 or more"
            )
        self._referee = Referee(settings, factories)

    def play(self, tasks: Sequence[Task]) -> Iterator[Played]:
        for task in tasks:
            yield from self._referee.play(task)

    def close(self) -> None:
        self._referee.close()


@dataclass(eq=False)
class Worker:
    """A process, the pipe to it, the clock it shares, and what it is playing."""

    process: BaseProcess
    pipe: Connection
    clock: Any
    task: Task | None = None


@dataclass(eq=False)
class PoolEngine:
    """Plays in `settings.workers` processes; results come in the order they are finished."""

    settings: Settings
    factories: Factories
    _workers: list[Worker] = field(default_factory=list)
    _lost: dict[Task, int] = field(default_factory=dict)

    def play(self, tasks: Sequence[Task]) -> Iterator[Played]:
        queue = deque(tasks)
        while queue or any(worker.task for worker in self._workers):
            self._hand_out(queue)
            for worker in self._stirring():
                yield from self._hear(worker, queue)

    def _hand_out(self, queue: deque[Task]) -> None:
        idle = [worker for worker in self._workers if worker.task is None]
        while queue and (idle or len(self._workers) < self.settings.workers):
            worker = idle.pop() if idle else self._hire()
            task = queue.popleft()
            worker.task = task
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                worker.pipe.send(task)  # if it is gone, its pipe says so when it is read

    def _hire(self) -> Worker:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        clock = context.RawArray("d", [0.0, -1.0])
        process = context.Process(
            target=serve, args=(there, clock, self.settings, self.factories), daemon=True
        )
        process.start()
        there.close()
        worker = Worker(process, here, clock)
        self._workers.append(worker)
        return worker

    def _stirring(self) -> list[Worker]:
        """Workers with something to say, the dead and the overdue among them."""
        busy = {worker.pipe: worker for worker in self._workers if worker.task}
        ready = wait(list(busy), timeout=POLL if self.settings.game_seconds else None)
        heard = [busy[pipe] for pipe in ready if isinstance(pipe, Connection)]
        return heard or [worker for worker in busy.values() if self._overdue(worker)]

    def _overdue(self, worker: Worker) -> bool:
        started, limit = worker.clock[STARTED], self.settings.game_seconds
        return bool(limit and started and time.monotonic() - started > limit + GRACE)

    def _hear(self, worker: Worker, queue: deque[Task]) -> list[Played]:
        """What a worker has finished; one that is lost is replaced."""
        try:
            if not worker.pipe.poll():
                why = f"the game took more than {self.settings.game_seconds:g} seconds"
                return self._lose(worker, queue, why, again=False)
            played: list[Played] = worker.pipe.recv()
        except (EOFError, OSError):
            worker.process.join(GRACE)
            code = worker.process.exitcode
            why = f"the process was lost (exit code {code})"
            return self._lose(worker, queue, why, again=code is None or code < 0)
        worker.task = None
        return played

    def _lose(self, worker: Worker, queue: deque[Task], why: str, *, again: bool) -> list[Played]:
        """Settle or repeat what a lost worker was playing; many games are taken apart first."""
        task, seat = worker.task or (), int(worker.clock[ASKED])
        worker.process.kill()
        self._dismiss(worker)
        if len(task) > 1:
            queue.extendleft((match,) for match in reversed(task))
            return []
        self._lost[task] = self._lost.get(task, 0) + 1
        if again and self._lost[task] < LOSSES:
            queue.appendleft(task)
            return []
        return [Referee(self.settings).abandoned(task[0], seat, why)]

    def _dismiss(self, worker: Worker) -> None:
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.join(GRACE)

    def close(self) -> None:
        """Let idle workers close their agents; end those that play."""
        for worker in list(self._workers):
            if worker.task is not None:
                worker.process.kill()
            self._dismiss(worker)


Engine = InlineEngine | PoolEngine


def open_engine(settings: Settings, factories: Factories) -> Engine:
    """The engine the settings ask for."""
    if settings.workers == 0:
        return InlineEngine(settings, factories)
    return PoolEngine(settings, factories)


def serve(pipe: Connection, clock: Any, settings: Settings, factories: Factories) -> None:
    """What a worker process does: play tasks until nobody sends any."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that keeps the store
    threading.Thread(target=_end_with_parent, daemon=True).start()
    referee = Referee(settings, factories, clock)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send(referee.play(pipe.recv()))
    referee.close()


def _end_with_parent() -> None:
    """A worker whose parent was killed in the middle of a game does not play on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
