"""The plugin's hooks, which register what its modules declare (see catalogue.json)."""

from __future__ import annotations

from palestra.catalogue.read import read_catalogue
from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec, EnvSpec, MetricSpec

CATALOGUE = read_catalogue("palestra_tasks")


@hookimpl
def palestra_environments() -> list[EnvSpec]:
    return CATALOGUE.environments


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return CATALOGUE.agents


@hookimpl
def palestra_metrics() -> list[MetricSpec]:
    return CATALOGUE.metrics
