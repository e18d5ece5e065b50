"""What this plugin gives: renderers for every family, by mode, and people as players."""

from __future__ import annotations

from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec, RendererSpec


@hookimpl
def palestra_renderers() -> list[RendererSpec]:
    return [
        RendererSpec("*", "terminal", "palestra_renderers.terminal:TerminalRenderer"),
        RendererSpec("*", "ansi", "palestra_renderers.plain:AnsiRenderer"),
        RendererSpec("*", "rgb_array", "palestra_renderers.picture:RgbRenderer"),
        RendererSpec("*", "human", "palestra_renderers.window:WindowRenderer"),
        RendererSpec("*", "gif", "palestra_renderers.animation:export"),
        RendererSpec("*", "mp4", "palestra_renderers.animation:export_film"),
        RendererSpec("*", "strip", "palestra_renderers.animation:export_strip"),
        RendererSpec("*", "html", "palestra_renderers.html:export"),
    ]


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return [
        AgentSpec(
            "human",
            "palestra_renderers.human:HumanAgent",
            "human",
            "A person at the terminal, or in a window: human:window=true.",
        )
    ]
