"""What the core itself gives, as a plugin like any other: opponents that need no install."""

from __future__ import annotations

from palestra.catalogue.read import read_catalogue
from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return read_catalogue("palestra").agents
