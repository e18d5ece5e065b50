"""What this plugin gives: sites, worlds of tools and their reference agents, by id."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import AgentSpec, EnvSpec


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return []


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return []
