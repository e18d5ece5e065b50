"""The same tournament on Ray: actors hold agents and models, on this machine or on a cluster.

If Ray already runs in this process, it is used and left running; `RAY_ADDRESS` names a cluster to
join; otherwise Ray is started here and stopped at the end. It sends no usage statistics.

The seat to move is written to a small file on the actor's machine, which outlives the actor: if it
dies or hangs, a task sent to that machine reads there which seat was to move.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
import tempfile
import time
from collections.abc import MutableSequence
from pathlib import Path
from typing import Any, cast

from palestra import InvalidOption, MissingExtra

from palestra_arena.pool import GRACE, Lost, PoolEngine, Task, Worker
from palestra_arena.referee import ASKED, STARTED, Factories, FinishedGame, Referee
from palestra_arena.settings import Settings

try:
    import ray
    from palestra.runner.ray_cluster import join_cluster, start_cluster, stop_cluster
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as error:
    raise MissingExtra("ray", "palestra-arena[ray]") from error

READ_SECONDS = 60.0  # what reading a clock on another machine may take


class RayEngine(PoolEngine):
    """Plays in `settings.workers` actors, one CPU each."""

    def __init__(self, settings: Settings, factories: Factories) -> None:
        super().__init__(settings, factories)
        self._started = None if ray.is_initialized() else start(settings.workers)
        cpus = int(ray.cluster_resources().get("CPU", 0))
        if cpus < settings.workers:
            self.close()
            raise InvalidOption(
                f"workers must be at most the {cpus} CPUs of this Ray, not {settings.workers}"
            )

    def hire(self) -> Worker:
        return RayWorker(self.settings, self.factories)

    def stirring(self, busy: list[Worker], timeout: float | None) -> list[Worker]:
        waiting = {w.answer: w for w in busy if isinstance(w, RayWorker)}
        ready, _ = ray.wait(list(waiting), timeout=timeout)
        return [waiting[answer] for answer in ready]

    def close(self) -> None:
        super().close()
        if self._started is not None:
            stop_cluster(self._started)


def start(workers: int) -> list[subprocess.Popen[Any]]:
    """Join the cluster `RAY_ADDRESS` names, or start one; gives the processes that were started."""
    if "RAY_ADDRESS" in os.environ:
        join_cluster(os.environ["RAY_ADDRESS"], "RAY_ADDRESS=")
        return []
    return start_cluster(workers)


class RayWorker(Worker):
    """An actor, its current request, and the file of its clock."""

    def __init__(self, settings: Settings, factories: Factories) -> None:
        kind = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(MatchActor)
        self._actor = kind.remote(settings, factories)
        self._place = self._actor.place.remote()
        self._sent = 0.0
        self.answer: Any = None

    def send(self, task: Task) -> None:
        self._sent = time.monotonic()
        self.answer = self._actor.play.remote(task)

    def hear(self) -> list[FinishedGame]:
        try:
            return cast(list[FinishedGame], ray.get(self.answer))
        except ray.exceptions.RayActorError:
            raise Lost("the Ray actor was lost", again=True) from None

    def overdue(self, limit: float) -> bool:
        """Whether a game is over its limit; asks the machine only if it has been busy that long."""
        return time.monotonic() - self._sent > limit and self._clock()[STARTED] > limit

    def asked(self) -> int:
        return int(self._clock(last=True)[ASKED])

    def _clock(self, *, last: bool = False) -> tuple[float, float]:
        """How long the games have taken, and the seat to move; (0, -1) if the machine is lost."""
        read = ray.remote(num_cpus=0, max_retries=0)(read_clock)
        try:
            node, path = ray.get(self._place, timeout=READ_SECONDS)
            there = NodeAffinitySchedulingStrategy(node, soft=False)
            answer = read.options(scheduling_strategy=there).remote(path, last)
            return cast(tuple[float, float], ray.get(answer, timeout=READ_SECONDS))
        except ray.exceptions.RayError:
            return 0.0, -1.0

    def dismiss(self, *, kill: bool) -> None:
        if not kill:
            with contextlib.suppress(ray.exceptions.RayError):
                ray.get(self._actor.close.remote(), timeout=GRACE)
        ray.kill(self._actor)


class MatchActor:
    """What an actor does: play tasks, with a clock that stands in a file."""

    def __init__(self, settings: Settings, factories: Factories) -> None:
        with tempfile.NamedTemporaryFile(prefix="palestra-clock-", delete=False) as file:
            file.write(bytes(16))
            file.flush()
            self._path = file.name
            self._memory = mmap.mmap(file.fileno(), 16)
        clock = memoryview(self._memory).cast("d")
        clock[STARTED], clock[ASKED] = 0.0, -1.0
        self._referee = Referee(settings, factories, cast(MutableSequence[float], clock))

    def place(self) -> tuple[str, str]:
        """The machine, and the file on it."""
        return ray.get_runtime_context().get_node_id(), self._path

    def play(self, task: Task) -> list[FinishedGame]:
        return self._referee.play(task)

    def close(self) -> None:
        self._referee.close()
        Path(self._path).unlink(missing_ok=True)


def read_clock(path: str, last: bool) -> tuple[float, float]:
    """Seconds since the games began (0: none running), and the seat to move (-1: none).

    Removes the file if it will not be read again.
    """
    clock = memoryview(Path(path).read_bytes()).cast("d")
    if last:
        Path(path).unlink()
    started = clock[STARTED]
    return (time.monotonic() - started if started else 0.0), clock[ASKED]
