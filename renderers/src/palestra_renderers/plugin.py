"""The plugin's hooks, which register what its modules declare (see catalogue.json)."""

from __future__ import annotations

from palestra.catalogue.read import read_catalogue
from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec, RendererSpec, ThemeSpec

CATALOGUE = read_catalogue("palestra_renderers")


@hookimpl
def palestra_renderers() -> list[RendererSpec]:
    return CATALOGUE.renderers


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return CATALOGUE.agents


@hookimpl
def palestra_themes() -> list[ThemeSpec]:
    return [ThemeSpec("dark", "palestra_renderers:themes/dark.json", "the dark colours everywhere")]
