"""Parsing command-line arguments: ids, lists of agents, options of a game."""

from __future__ import annotations

import re
from typing import Any

from palestra.agents.naming import split_options
from palestra.kernel.errors import InvalidOption
from palestra.kernel.registry import registry

_CONTINUES = re.compile(r"^[a-z_]+=")


def split_agents(text: str) -> list[str]:
    """Split at commas that start a new agent: `mcts:simulations=50,c=2,random` is two."""
    agents: list[str] = []
    for part in text.split(","):
        if agents and _CONTINUES.match(part):
            agents[-1] += f",{part}"
        elif part.strip():
            agents.append(part.strip())
    if not agents:
        raise InvalidOption("name at least one agent, as in --agents random,mcts")
    return agents


def seat_agents(text: str, seats: int) -> list[str]:
    """The agent of every seat, from one name for all seats or one name per seat."""
    agents = split_agents(text)
    if len(agents) == 1:
        return agents * seats
    if len(agents) != seats:
        raise InvalidOption(f"{seats} seats need {seats} agents, or one for all; got {agents}")
    return agents


def read_options(pairs: list[str]) -> dict[str, Any]:
    """Parse `key=value` pairs; numbers and true/false are read as such."""
    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, _ = pair.partition("=")
        if not equals or not name.isidentifier():
            raise InvalidOption(f"option {pair!r} is not of the form name=value")
        options |= split_options(pair)[0]
    return options


def complete_id(incomplete: str) -> list[str]:
    """Shell completion of environment ids."""
    return [name for name in registry().environments if name.startswith(incomplete)]


def complete_name(incomplete: str) -> list[str]:
    """Shell completion of everything that `palestra info` explains."""
    installed = registry()
    kinds = (installed.environments, installed.agents, installed.rewards, installed.metrics)
    return [name for kind in kinds for name in kind if name.startswith(incomplete)]
