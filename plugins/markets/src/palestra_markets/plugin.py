"""The plugin's hooks, which register what its modules declare (see catalogue.json)."""

from __future__ import annotations

from typing import Any

from palestra.catalogue.read import read_catalogue
from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec, EnvSpec, MetricSpec, RendererSpec

CATALOGUE = read_catalogue("palestra_markets")


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return CATALOGUE.environments


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return CATALOGUE.agents


@hookimpl
def palestra_metrics() -> list[MetricSpec]:
    return CATALOGUE.metrics


@hookimpl
def palestra_renderers() -> list[RendererSpec]:
    return CATALOGUE.renderers


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra.cli.groups import PLAY

    from palestra_markets.report.command import report_command

    app.command("report", rich_help_panel=PLAY)(report_command)
