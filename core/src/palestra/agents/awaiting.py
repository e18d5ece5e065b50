"""Awaiting many coroutines from code that is none: an event loop in a thread of its own.

The process has one such loop, started when it is first needed and closed at exit, so that a client
that is bound to its loop serves several runs. The caller may be inside a running loop itself. A
coroutine that plays a game of coroutines blocks its loop: those run in a second one, and so on.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from palestra.agents.answers import LateAnswer, discard
from palestra.kernel.errors import cause

GRACE = 1.0  # seconds in which cancelled coroutines are to end


def await_all(
    waiting: Sequence[Any], seconds: Sequence[float | None] = (), concurrency: int = 64
) -> list[Any]:
    """What each awaitable returns, or the exception that it raises, in order.

    An async generator returns its last value. seconds: the limit of each from its start (none); one
    that takes longer gives a `LateAnswer`. concurrency: how many are awaited at a time. An
    exception in the caller's thread, such as Ctrl-C, cancels all of them.
    """
    limits = seconds or [None] * len(waiting)
    try:
        return _thread().run(_gather(waiting, limits, concurrency))
    finally:
        for value in waiting:
            discard(value)


async def _gather(waiting: Sequence[Any], limits: Sequence[float | None], most: int) -> list[Any]:
    slots = asyncio.Semaphore(most)

    async def one(value: Any, seconds: float | None) -> Any:
        async with slots:
            limit = asyncio.timeout(seconds)
            try:
                async with limit:
                    return await (_last(value) if inspect.isasyncgen(value) else value)
            except Exception as error:
                if limit.expired() and isinstance(error, TimeoutError):
                    return LateAnswer(f"it took more than {seconds:g} s")
                return error
            except BaseException as error:  # sys.exit would end the loop
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                    raise
                return RuntimeError(cause(error))

    return await asyncio.gather(*map(one, waiting, limits))


async def _last(values: Any) -> Any:
    last = None
    try:
        async for value in values:
            last = value
    finally:
        await values.aclose()
    return last


class _LoopThread:
    """An event loop that runs in a thread until it is stopped."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop
        self._closing = False
        started = threading.Event()

        def serve() -> None:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                self._loop.call_soon(started.set)
                while not self._closing:  # a coroutine may stop the loop that it is in
                    self._loop.run_forever()

        self._thread = threading.Thread(target=serve, name="palestra-await", daemon=True)
        self._thread.start()
        started.wait()

    def run(self, coroutine: Any) -> Any:
        """What a coroutine returns; it is cancelled if the caller is interrupted."""
        tasks: list[asyncio.Task[Any]] = []
        done = threading.Event()

        def start() -> None:
            tasks.append(self._loop.create_task(coroutine))
            tasks[0].add_done_callback(lambda _: done.set())

        self._loop.call_soon_threadsafe(start)
        try:
            while not done.wait(0.2):  # Ctrl-C does not end a wait without a limit everywhere
                pass
        except BaseException:
            self._loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            if not _wait_through(done):
                _abandon(self)
            raise
        return tasks[0].result()

    def stop(self, seconds: float = 0.0) -> None:
        """Close the loop as soon as it can be, waiting for it so long."""
        self._closing = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(seconds)

    @property
    def calls(self) -> bool:
        """Whether the caller is a coroutine of this loop."""
        return threading.current_thread() is self._thread


_threads: list[_LoopThread] = []  # each but the first serves coroutines of the one before it
_lock = threading.Lock()


def _thread() -> _LoopThread:
    with _lock:
        place = next((place for place, one in enumerate(_threads, 1) if one.calls), 0)
        if place == len(_threads):
            _threads.append(_LoopThread())
        return _threads[place]


def _wait_through(done: threading.Event) -> bool:
    """Wait for cancelled coroutines to end, whatever interrupts the caller again meanwhile."""
    until = time.monotonic() + GRACE
    while not done.is_set() and (left := until - time.monotonic()) > 0:
        try:
            done.wait(left)
        except BaseException:  # the first interruption is raised afterwards
            continue
    return done.is_set()


def _abandon(thread: _LoopThread) -> None:
    """Leave a loop that a coroutine blocks; it closes when that ends."""
    with _lock:
        if thread in _threads:
            _threads.remove(thread)
    thread.stop()


@atexit.register
def _close() -> None:
    for thread in _threads:
        thread.stop(GRACE)


def _forget() -> None:
    """A forked process has none of its parent's threads."""
    global _lock
    _lock = threading.Lock()
    _threads.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
