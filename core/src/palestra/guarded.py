"""Calls of a stranger's code, which may never end, interrupt us or close what it shares with us."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from time import monotonic
from typing import Any, TypeVar

from palestra.time_limit import TimeUp, can_interrupt, time_limit

T = TypeVar("T")
LONG = 5.0  # seconds after which whoever waited is told for what
LIMIT = 30.0  # seconds after which a call is stopped
VARIABLE = "PALESTRA_PLUGIN_SECONDS"  # another limit


def guarded(call: Callable[[], T], what: str) -> T:
    """What `call` returns.

    Raises `TimeoutError` if it does not end in time, and `RuntimeError` if it raises
    `KeyboardInterrupt` though nobody pressed Ctrl-C, or closes standard output, which is opened
    again. Warns if it takes `LONG`. Outside the main thread, and where there are no timers, it may
    take for ever and interrupt.
    """
    started, seconds = monotonic(), _limit()
    with _standard_output_stays_open(), _interrupts_are_real():
        try:
            with time_limit(seconds) if can_interrupt() else nullcontext():
                result = call()
        except TimeUp:
            raise TimeoutError(
                f"it does not end within {seconds:g} seconds; {VARIABLE} sets another limit"
            ) from None
    if (took := monotonic() - started) > LONG:
        warnings.warn(f"{what} took {took:.0f} seconds", RuntimeWarning, stacklevel=3)
    return result


def _limit() -> float:
    given = os.environ.get(VARIABLE, "")
    with suppress(ValueError):
        if float(given) > 0:
            return float(given)
    return LIMIT


@contextmanager
def _interrupts_are_real() -> Iterator[None]:
    """Turn a `KeyboardInterrupt` that no signal asked for into a `RuntimeError`."""
    before = signal.getsignal(signal.SIGINT)
    asked: list[int] = []

    def note(number: int, frame: Any) -> None:
        asked.append(number)
        before(number, frame)  # type: ignore[operator,misc]

    watched = can_interrupt() and callable(before)
    if watched:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    except KeyboardInterrupt as error:
        if watched and not asked:
            raise RuntimeError("it raises KeyboardInterrupt itself") from error
        raise
    finally:
        if watched and signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _standard_output_stays_open() -> Iterator[None]:
    """Open standard output again, and say so, if the block closes it."""
    stream, spare = sys.stdout, -1
    with suppress(OSError, ValueError, AttributeError):  # there is none, or no file behind it
        number = stream.fileno()
        spare = os.dup(number)
    try:
        yield
    finally:
        if spare >= 0:
            closed = stream.closed or (sys.stdout is not stream and sys.stdout.closed)
            if closed or not _is_open(number):
                os.dup2(spare, number)
                sys.stdout = open(number, "w", encoding=stream.encoding, closefd=False)  # noqa: SIM115
                closed = True
            os.close(spare)
    if spare >= 0 and closed:
        raise RuntimeError("it closes standard output")


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
