"""A pool of workers that may be lost: local processes, or the workers of a subclass.

A worker that ends or hangs is replaced, and the seat to move forfeits. If a signal, which may have
come from outside, killed it, the game is first played once more.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import Any

from palestra.kernel.errors import PalestraError

from palestra_arena.match import Match
from palestra_arena.referee import ASKED, STARTED, Factories, FinishedGame, Referee
from palestra_arena.settings import Settings

Task = tuple[Match, ...]
GRACE = 2.0  # seconds beyond the limit before a process that did not stop is killed
POLL = 0.25
LOSSES = 2  # processes that may be lost over one game


class Lost(Exception):
    """A worker was lost; `again` says that its game may be played once more."""

    def __init__(self, why: str, *, again: bool) -> None:
        super().__init__(why)
        self.why, self.again = why, again


class Worker(ABC):
    """Plays one task after another outside this process, and may be lost doing so."""

    task: Task | None = None

    @abstractmethod
    def send(self, task: Task) -> None:
        """Begin a task; if the worker was lost, `hear` raises."""

    @abstractmethod
    def hear(self) -> list[FinishedGame]:
        """The results of the task, for a worker in `stirring`; raises `Lost`."""

    @abstractmethod
    def overdue(self, limit: float) -> bool:
        """Whether a game takes longer than `limit` seconds."""

    @abstractmethod
    def asked(self) -> int:
        """The seat to move, even of a lost worker; -1 for none."""

    @abstractmethod
    def dismiss(self, *, kill: bool) -> None:
        """Let an idle worker close its agents, or end it at once."""


@dataclass(eq=False)
class ProcessWorker(Worker):
    """A process of this machine, the pipe to it, and the clock it shares."""

    settings: Settings
    factories: Factories

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, there = context.Pipe()
        self._clock = context.RawArray("d", [0.0, -1.0])
        self._began = context.RawValue("b", 0)
        self._process = context.Process(
            target=serve,
            args=(there, self._clock, self._began, self.settings, self.factories),
            daemon=True,
        )
        self._process.start()
        there.close()

    def send(self, task: Task) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.pipe.send(task)

    def hear(self) -> list[FinishedGame]:
        try:
            played: list[FinishedGame] = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join(GRACE)
            code = self._process.exitcode
            if code and code > 0 and not self._began.value:
                raise PalestraError(
                    f"a worker process ended before its first game (exit code {code}); its error "
                    "stands above. A script calls run_tournament below `if __name__ == "
                    "'__main__':`, since workers import it, and what it gives them is importable; "
                    "workers=0 plays in this process"
                ) from None
            why = f"the process was lost (exit code {code})"
            raise Lost(why, again=code is None or code < 0) from None
        return played

    def overdue(self, limit: float) -> bool:
        started = self._clock[STARTED]
        return bool(started and time.monotonic() - started > limit)

    def asked(self) -> int:
        return int(self._clock[ASKED])

    def dismiss(self, *, kill: bool) -> None:
        if kill:
            self._process.kill()
        self.pipe.close()
        self._process.join(GRACE)


@dataclass(eq=False)
class PoolEngine:
    """Plays in `settings.workers` workers; results come in the order they are finished."""

    settings: Settings
    factories: Factories
    _workers: list[Worker] = field(default_factory=list)
    _lost: dict[Task, int] = field(default_factory=dict)

    def play(self, tasks: Sequence[Task]) -> Iterator[FinishedGame]:
        queue = deque(tasks)
        while queue or any(worker.task for worker in self._workers):
            self._hand_out(queue)
            yield from self._listen(queue)

    def hire(self) -> Worker:
        """One more worker."""
        return ProcessWorker(self.settings, self.factories)

    def stirring(self, busy: list[Worker], timeout: float | None) -> list[Worker]:
        """Workers with results, including lost workers; empty after `timeout`."""
        pipes = {worker.pipe: worker for worker in busy if isinstance(worker, ProcessWorker)}
        ready = wait(list(pipes), timeout=timeout)
        return [pipes[pipe] for pipe in ready if isinstance(pipe, Connection)]

    def _hand_out(self, queue: deque[Task]) -> None:
        idle = [worker for worker in self._workers if worker.task is None]
        while queue and (idle or len(self._workers) < self.settings.workers):
            if not idle:
                idle.append(self.hire())
                self._workers += idle
            worker = idle.pop()
            worker.task = queue.popleft()
            worker.send(worker.task)

    def _listen(self, queue: deque[Task]) -> Iterator[FinishedGame]:
        """Yield what workers have finished; replace workers that are lost or overdue."""
        limit = self.settings.game_seconds
        busy = [worker for worker in self._workers if worker.task]
        heard = self.stirring(busy, POLL if limit else None)
        for worker in heard:
            try:
                yield from worker.hear()
                worker.task = None
            except Lost as lost:
                yield from self._lose(worker, queue, lost)
        if limit and not heard:
            for worker in busy:
                if worker.overdue(limit + GRACE):
                    late = Lost(f"the game took more than {limit:g} seconds", again=False)
                    yield from self._lose(worker, queue, late)

    def _lose(self, worker: Worker, queue: deque[Task], lost: Lost) -> list[FinishedGame]:
        """Settle or repeat what a lost worker was playing; several games are split up first."""
        task, seat = worker.task or (), worker.asked()
        self._workers.remove(worker)
        worker.dismiss(kill=True)
        if len(task) > 1:
            queue.extendleft((match,) for match in reversed(task))
            return []
        self._lost[task] = self._lost.get(task, 0) + 1
        if lost.again and self._lost[task] < LOSSES:
            queue.appendleft(task)
            return []
        return [Referee(self.settings).abandoned(task[0], seat, lost.why)]

    def close(self) -> None:
        """Let idle workers close their agents; kill those that are playing."""
        for worker in self._workers:
            worker.dismiss(kill=worker.task is not None)
        self._workers.clear()


def serve(
    pipe: Connection, clock: Any, began: Any, settings: Settings, factories: Factories
) -> None:
    """The loop of a worker process: play tasks until no more are sent."""
    began.value = 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that keeps the store
    threading.Thread(target=_end_with_parent, daemon=True).start()
    referee = Referee(settings, factories, clock)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            pipe.send(referee.play(pipe.recv()))
    referee.close()


def _end_with_parent() -> None:
    """Make a worker end if its parent is killed in the middle of a game."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
