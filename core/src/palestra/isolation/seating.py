"""An agent for a seat: in this process, or in one of its own."""

from __future__ import annotations

from typing import Any

from palestra.agents.agent import Agent
from palestra.agents.making import file_of, make_agent
from palestra.kernel.registry import registry


def seat_agent(agent: Any, *, isolate: bool = False, **limits: Any) -> Agent:
    """An agent as in `make_agent`, isolated if that is asked for or its name is that of a file.

    People stay in this process, which has their keyboard. `limits` are those of `IsolatedAgent`.
    """
    if file_of(agent) or (isolate and not _stays(agent)):
        from palestra.isolation.agent import IsolatedAgent

        return IsolatedAgent(agent, **limits)
    return make_agent(agent)


def _stays(agent: Any) -> bool:
    if isinstance(agent, str):
        spec = registry().agents.get(agent.partition(":")[0])
        return spec is not None and spec.kind == "human"
    return type(agent).__module__ == "palestra.isolation.agent"
