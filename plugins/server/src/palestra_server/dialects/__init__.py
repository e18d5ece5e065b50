"""Other projects' protocols for the same matches, one module each."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

from palestra import UnknownName
from starlette.routing import BaseRoute

if TYPE_CHECKING:
    from palestra_server.server import MatchServer


class Dialect(Protocol):
    """A protocol for `create_app`: routes, and a context that runs with the application."""

    @property
    def routes(self) -> Sequence[BaseRoute]: ...

    def running(self) -> AbstractAsyncContextManager[None]: ...


def open_dialect(name: str, server: MatchServer, token: str) -> Dialect:
    """A protocol by its name; raises `UnknownName`, and `MissingExtra` for one not installed."""
    if name == "mcp":
        from palestra_server.dialects.mcp import McpDialect

        return McpDialect(server)
    if name == "openenv":
        from palestra_server.dialects.openenv import OpenEnvDialect

        return OpenEnvDialect(server, token)
    if name == "nemo-gym":
        from palestra_server.dialects.nemo_gym import NeMoGymDialect

        return NeMoGymDialect(server, token)
    raise UnknownName("dialect", name, ["mcp", "nemo-gym", "openenv"])
