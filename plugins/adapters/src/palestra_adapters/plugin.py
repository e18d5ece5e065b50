"""What this plugin gives: agents made of a language model by published methods, as its modules declare it (see catalogue.json)."""

from __future__ import annotations

from palestra.kernel.catalogue import read_catalogue
from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec

CATALOGUE = read_catalogue("palestra_adapters")


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return CATALOGUE.agents
