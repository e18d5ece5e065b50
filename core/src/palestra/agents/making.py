"""Agents and models from their names."""

from __future__ import annotations

from typing import Any

from palestra.agents.agent import Agent, FunctionAgent
from palestra.kernel.errors import InvalidOption, UnknownName
from palestra.kernel.naming import construct, parse_agent
from palestra.kernel.registry import registry
from palestra.kernel.specs import load_entry_point

AgentLike = str | Agent | Any


def make_agent(agent: AgentLike, **more: Any) -> Agent:
    """An agent from its name (`"mcts:simulations=200"`), an `Agent`, or a function of a `Turn`."""
    if isinstance(agent, Agent):
        return agent
    if not isinstance(agent, str):
        if not callable(agent):
            raise InvalidOption(f"an agent is a name, an Agent or a function, not {agent!r}")
        return FunctionAgent(agent)
    name, options, rest = parse_agent(agent)
    spec = registry().agent(name)
    if rest:
        options["target"] = rest
    made: Agent = construct(load_entry_point(spec.entry_point), f"agent {name!r}", more | options)
    made.name = agent
    return made


def open_model(uri: str, **options: Any) -> Any:
    """Open a language model by URI; the first plugin that knows the scheme answers."""
    model = registry().plugins.first("palestra_models", uri=uri, options=options)
    if model is None:
        raise UnknownName(
            "model scheme",
            uri.split(":", 1)[0],
            ["echo", "local", "openai", "vllm"],
            '(model openers come with plugins; pip install "palestra[standard]")',
        )
    return model
