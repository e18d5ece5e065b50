"""Every adapter of a language model, opened on a model of a test's own."""

from __future__ import annotations

from typing import Any

from palestra import Agent, make_agent
from palestra.agents.models import Model
from palestra.kernel.registry import registry
from palestra.kernel.specs import load_entry_point
from palestra_adapters.attempts import Escalation
from palestra_adapters.relay import Relay
from palestra_adapters.routers.free_agent import FreeAgent
from palestra_adapters.routers.knapsack import Knapsack, Offer, Purchase
from palestra_agents.llm import LLMAgent


def adapters_for(env: str) -> list[str]:
    """The names of all adapters that can play an environment."""
    specs = registry().agents.values()
    able = [spec for spec in specs if spec.kind == "llm" and spec.can_play(env)]
    return sorted(s.name for s in able if s.entry_point.startswith("palestra_adapters"))


def open_adapter(name: str, model: Model, game: Any) -> Agent:
    """An adapter of one model, or of agents of it; raises `InvalidOption` if it needs settings."""
    if name == "relay":
        return Relay(agents=[LLMAgent(model=model), LLMAgent(model=model)])
    if name == "escalation":
        return Escalation(agents=[LLMAgent(model=model), LLMAgent(model=model)])
    if name == "free-agent":
        return FreeAgent(agents=[LLMAgent(model=model), LLMAgent(model=model)])
    if name == "knapsack":
        bought = make_agent("knapsack:random+first")
        assert isinstance(bought, Knapsack)
        bought.members = dict.fromkeys(bought.members, LLMAgent(model=model))
        chosen = [Purchase(Offer("random", 1.0, 1.0), 0.0, 0.0, taken=True)]
        bought.bought = {f"{game!r} {seat}": chosen for seat in range(game.num_players)}
        return bought
    kind = load_entry_point(registry().agent(name).entry_point)
    made = kind(model=model)
    assert isinstance(made, Agent)
    return made
