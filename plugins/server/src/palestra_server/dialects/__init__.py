"""Other projects' protocols for the same matches, one module each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from starlette.routing import BaseRoute


class Dialect(Protocol):
    """A protocol for `create_app`: routes, and a context that runs with the application."""

    @property
    def routes(self) -> Sequence[BaseRoute]: ...

    def running(self) -> AbstractAsyncContextManager[None]: ...
