"""The same tournament on Ray: actors hold agents and models, on this machine or on a cluster.

If Ray already runs in this process, it is used and left running; `RAY_ADDRESS` names a cluster to
join; otherwise Ray is started here and stopped at the end. It sends no usage statistics.

The seat to move is written to a small file on the actor's machine, which outlives the actor: if it
dies or hangs, a task sent to that machine reads there which seat was to move.
"""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, MutableSequence
from pathlib import Path
from typing import Any, cast

from palestra import InvalidOption, MissingExtra

from palestra_arena.pool import GRACE, Lost, PoolEngine, Task, Worker
from palestra_arena.referee import ASKED, STARTED, Factories, FinishedGame, Referee
from palestra_arena.settings import Settings

try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ImportError as error:
    raise MissingExtra("ray", "palestra-arena[ray]") from error

GRACE_OF_RAY = 30.0  # seconds for its processes to end
PATIENCE = 5.0  # seconds for an address to answer as Ray would
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])  # of RFC 9113
SETTINGS_FRAME = 4  # the type of frame with which every HTTP/2 server begins, and so Ray's gRPC
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
            stop(self._started)


def start(workers: int) -> list[subprocess.Popen[Any]]:
    """Join the cluster `RAY_ADDRESS` names, or start one with this process's import path.

    Returns the processes that were started.
    """
    quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
    if "RAY_ADDRESS" in os.environ:
        _join(os.environ["RAY_ADDRESS"], quiet)
        return []
    before = _processes()
    paths = os.pathsep.join(path for path in sys.path if path)
    _have_token()
    with _environment(RAY_USAGE_STATS_ENABLED="0"):
        ray.init(
            "local",  # and not a cluster that somebody else has started on this machine
            num_cpus=workers,
            include_dashboard=False,
            runtime_env={"env_vars": {"PYTHONPATH": paths}},
            **quiet,
        )
    return [process for process in _processes() if process not in before]


def _join(address: str, quiet: dict[str, Any]) -> None:
    try:
        _knock(address)
        ray.init(**quiet)
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidOption(
            f"cannot join a Ray cluster at RAY_ADDRESS={address}: {error}; see that it runs there "
            "(ray start --head), and set RAY_AUTH_MODE and RAY_AUTH_TOKEN as it has them"
        ) from error


def _knock(address: str) -> None:
    """Raise `OSError` or `ValueError` unless a server of Ray's protocol answers at `host:port`.

    `ray.init` waits for minutes at a port of another program, and then ends this process.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:  # auto, or local
        return
    if not port.isdecimal() or int(port[:6]) >= 1 << 16:
        raise ValueError("an address is host:port")
    with socket.create_connection((host.strip("[]"), int(port)), PATIENCE) as there:
        if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
            return
        there.sendall(HELLO)
        answer = _first_bytes(there, 4)
    if len(answer) < 4 or answer[3] != SETTINGS_FRAME:
        raise ConnectionError("another program answers there, or none")


def _first_bytes(there: socket.socket, count: int) -> bytes:
    """The first bytes that come within `PATIENCE`; fewer if there are no more."""
    until, heard = time.monotonic() + PATIENCE, b""
    with contextlib.suppress(TimeoutError):
        while len(heard) < count and (left := until - time.monotonic()) > 0:
            there.settimeout(left)
            if not (part := there.recv(count - len(heard))):
                break
            heard += part
    return heard


def _have_token() -> None:
    """Set a token for this process; otherwise Ray would make one in the home folder.

    It stays for as long as the process lives: Ray reads it once.
    """
    named = any(name in os.environ for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if not named and not (Path.home() / ".ray" / "auth_token").exists():
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def stop(processes: list[subprocess.Popen[Any]]) -> None:
    """Stop Ray, and wait for the processes it ends, which Ray itself does not."""
    ray.shutdown()
    for process in processes:
        process.wait(GRACE_OF_RAY)


def _processes() -> list[subprocess.Popen[Any]]:
    # by type: isinstance() asks some objects for their class, and of those some warn when asked
    return [found for found in gc.get_objects() if issubclass(type(found), subprocess.Popen)]


@contextlib.contextmanager
def _environment(**wanted: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


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
