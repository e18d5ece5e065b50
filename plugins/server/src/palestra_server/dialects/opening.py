"""Opening a protocol by its name."""

from __future__ import annotations

from palestra import UnknownName

from palestra_server.dialects import Dialect
from palestra_server.server import MatchServer


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
