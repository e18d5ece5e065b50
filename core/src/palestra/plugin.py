"""The core's own plugin, loaded like any other: opponents and counts."""

from __future__ import annotations

from palestra.catalogue.read import read_catalogue
from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec, MetricSpec


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return read_catalogue("palestra").agents


@hookimpl
def palestra_metrics() -> list[MetricSpec]:
    return read_catalogue("palestra").metrics
