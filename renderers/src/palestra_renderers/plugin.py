"""What this plugin gives: renderers by family and mode."""

from __future__ import annotations

from palestra.hooks import hookimpl
from palestra.specs import RendererSpec


@hookimpl
def palestra_renderers() -> list[RendererSpec]:
    return []
