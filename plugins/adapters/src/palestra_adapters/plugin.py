"""Hooks of this plugin; its agents are declared in their modules (see catalogue.json)."""

from __future__ import annotations

from typing import Any

from palestra.catalogue.read import read_catalogue
from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec

CATALOGUE = read_catalogue("palestra_adapters")


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return CATALOGUE.agents


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra.cli.groups import TRAIN

    from palestra_adapters.optimisers.command import optimise_command

    app.command("optimise-agent", rich_help_panel=TRAIN)(optimise_command)
