"""An agent for a seat: in this process, or in one of its own."""

from __future__ import annotations

from typing import Any

from palestra.agents.agent import Agent
from palestra.agents.making import make_agent
from palestra.code_names import file_of
from palestra.kernel.registry import registry


def seat_agent(agent: Any, *, isolate: bool | None = None, **limits: Any) -> Agent:
    """An agent as in `make_agent`, in a process of its own if `isolate`; None: if a file is named.

    People stay in this process, which has their keyboard. `limits` are those of `IsolatedAgent`.
    """
    if isolate is None:
        isolate = bool(file_of(agent))
    if not isolate or _is_person(agent):
        return make_agent(agent)
    from palestra.isolation.agent import IsolatedAgent

    return agent if isinstance(agent, IsolatedAgent) else IsolatedAgent(agent, **limits)


def _is_person(agent: Any) -> bool:
    spec = registry().agents.get(agent.partition(":")[0]) if isinstance(agent, str) else None
    return spec is not None and spec.kind == "human"
