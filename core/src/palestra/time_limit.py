"""A wall-time limit on code in this process, enforced by a signal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic


class TimeUp(BaseException):
    """The time is up; not an `Exception`, so that no agent swallows it."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `TimeUp` in the block after `seconds`; None or 0 means no limit.

    Needs `can_interrupt()`. Native code that never returns to Python is not interrupted.
    """
    if not seconds:
        yield
        return
    before = signal.signal(signal.SIGALRM, _ring)
    outer, every = signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    started = monotonic()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:  # a limit around this one, which goes on
            left = max(0.001, outer - (monotonic() - started))
            signal.setitimer(signal.ITIMER_REAL, left, every)


def can_interrupt() -> bool:
    """Whether a limit can be enforced: only in the main thread, and not on Windows."""
    here = threading.current_thread() is threading.main_thread()
    return here and hasattr(signal, "setitimer")


def _ring(number: int, frame: object) -> None:
    raise TimeUp
