"""What the core itself gives, as a plugin like any other: opponents that need no install."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import AgentSpec


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            "random", "palestra.simple_agents:RandomAgent", "scripted", "A random legal action."
        ),
        AgentSpec(
            "first", "palestra.simple_agents:FirstLegalAgent", "scripted", "The first legal action."
        ),
        AgentSpec(
            "scripted",
            "palestra.simple_agents:ScriptedAgent",
            "scripted",
            "An array game's own script, where it has one.",
            needs=("script",),
        ),
    ]
