"""Protocols of other projects over the same matches, one module each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from starlette.routing import BaseRoute


class Dialect(Protocol):
    """A protocol as `create_app` takes it: routes, and what runs while the application does."""

    @property
    def routes(self) -> Sequence[BaseRoute]: ...

    def running(self) -> AbstractAsyncContextManager[None]: ...
