"""What an agent, a game or a listener may raise, and what is no fault of theirs."""

from __future__ import annotations

from palestra.kernel.errors import cause
from palestra.time_limit import TimeUp


def is_stop(error: BaseException) -> bool:
    """Whether an exception stops the run: Ctrl-C, or a time limit; all others end an episode.

    `sys.exit` in an agent, a cancelled task or a `BaseException` of a library's own are faults.
    """
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup((KeyboardInterrupt, TimeUp)) is not None
    return isinstance(error, KeyboardInterrupt | TimeUp)


def as_exception(error: BaseException) -> Exception:
    """The exception itself; one that ends a process or a generator is made a `RuntimeError`."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = RuntimeError(cause(error))
    wrapped.__cause__ = error
    return wrapped
