"""Pictures of things by name, as outlines in a square of 24 x 24.

The outlines are in `sprites.json`: those of "icons" are from Material Design Icons by Pictogrammers
(Apache License 2.0), those of "drawn" are ours. `scripts/sprites.py` says which icon is which name.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from palestra_renderers.theme_file import chosen_theme


@cache
def outlines() -> dict[str, str]:
    """Every sprite's path, in the letters of SVG."""
    text = files("palestra_renderers").joinpath("sprites.json").read_text("utf-8")
    data: dict[str, dict[str, str]] = json.loads(text)
    return {**data["icons"], **data["drawn"], **chosen_theme().sprites}


def has_sprite(name: str) -> bool:
    return name in outlines()


def sprite_svg(name: str, size: int, fill: str, edge: str) -> bytes:
    """One sprite as an SVG image of `size` x `size` pixels; colours as in "#1e2128"."""
    stroke = f' stroke="{edge}" stroke-width="0.9" stroke-linejoin="round"' if edge else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" '
        f'viewBox="-0.6 -0.6 25.2 25.2"><path d="{outlines()[name]}" fill="{fill}"{stroke} '
        f'fill-rule="nonzero"/></svg>'
    ).encode()
