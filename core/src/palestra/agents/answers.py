"""What a function of an agent returns: an answer, or something that has to be awaited first."""

from __future__ import annotations

import inspect

from palestra.kernel.errors import PalestraError


class WrongAnswer(PalestraError, TypeError):
    """A function or object that plays returned what is no answer to a turn. Also a TypeError."""


class LateAnswer(PalestraError):
    """A coroutine took longer than its turn may take."""


def is_awaited(value: object) -> bool:
    """Whether a value is a coroutine, another awaitable, or an async generator."""
    return inspect.isawaitable(value) or inspect.isasyncgen(value)


def discard(value: object) -> None:
    """Close a coroutine that nobody will await."""
    if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
        value.close()
