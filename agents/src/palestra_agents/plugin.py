"""What this plugin gives: agents that can be named in a string."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import AgentSpec


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            "random", "palestra_agents.simple:RandomAgent", "scripted", "A random legal action."
        ),
        AgentSpec(
            "first", "palestra_agents.simple:FirstLegalAgent", "scripted", "The first legal action."
        ),
    ]
