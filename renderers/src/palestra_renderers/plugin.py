"""What this plugin gives: renderers for every family, by mode."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import RendererSpec


@hookimpl
def palestra_renderers() -> list[RendererSpec]:
    return [
        RendererSpec("*", "terminal", "palestra_renderers.terminal:TerminalRenderer"),
        RendererSpec("*", "ansi", "palestra_renderers.plain:AnsiRenderer"),
        RendererSpec("*", "rgb_array", "palestra_renderers.picture:RgbRenderer"),
        RendererSpec("*", "human", "palestra_renderers.picture:WindowRenderer"),
        RendererSpec("*", "gif", "palestra_renderers.animation:export"),
        RendererSpec("*", "html", "palestra_renderers.html:export"),
    ]
