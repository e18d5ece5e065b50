"""A page's widgets, laid out as in a browser: text in lines, links and buttons in rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from palestra import Widget

from palestra_renderers.drawing import pygame, words
from palestra_renderers.palette import FAINT, INK, NEUTRAL, WHITE, Rgb
from palestra_renderers.plain import clean

LINK: Rgb = (0, 90, 160)
Box = tuple[int, int, int, int]


def draw_widgets(surface: Any, widgets: Sequence[Widget], box: Box, line: int) -> int:
    """Draw as much as fits from the top of a box (left, top, right, bottom); returns its end."""
    left, y, right, bottom = box
    x, height, depth = left, 0, 0
    for index, widget in enumerate(widgets):
        start = left + widget.depth * line // 2
        picture = _picture(widget, line, max(4 * line, right - start - line))
        alone = widget.kind in ("heading", "text")
        full = x > start and x + picture.get_width() > right - line // 2
        if height and (alone or full or widget.depth != depth):
            x, y, height = start, y + height, 0
        depth = widget.depth
        x = max(x, start)
        if y + picture.get_height() > bottom:
            rest = f"… and {len(widgets) - index} more"
            surface.blit(words(rest, line * 3 // 4, NEUTRAL), (left, bottom - line * 3 // 4))
            return bottom
        surface.blit(picture, (x, y))
        x += picture.get_width() + line // 2
        height = max(height, picture.get_height() + line // 6)
        if alone:
            x, y, height = left, y + height, 0
    return y + height


def _picture(widget: Widget, line: int, room: int) -> Any:
    """One widget, as wide as it needs to be, up to the space available."""
    module = pygame()
    size = line * 5 // 4 if widget.kind == "heading" else line
    ink = {"link": LINK, "button": WHITE}.get(widget.kind, INK)
    number = f"{widget.number} " if widget.number else ""
    mark = words(number, line * 3 // 4, NEUTRAL)
    letters = max(4, (room - mark.get_width() - 2 * line) * 5 // (2 * size))
    text = words(clean(widget.text, letters), size, ink)
    inside = _inside(widget, text, line, room - mark.get_width())
    picture = module.Surface(
        (mark.get_width() + inside.get_width(), max(inside.get_height(), line)), module.SRCALPHA
    )
    picture.blit(mark, (0, line // 4))
    picture.blit(inside, (mark.get_width(), 0))
    return picture


def _inside(widget: Widget, text: Any, line: int, room: int) -> Any:
    module = pygame()
    wide, pad = text.get_width(), line // 3
    if widget.kind == "button":
        made = module.Surface((wide + 2 * pad, line + 2), module.SRCALPHA)
        module.draw.rect(made, LINK, made.get_rect(), border_radius=pad)
        made.blit(text, (pad, 2))
    elif widget.kind == "field":
        box = max(5 * line, min(12 * line, room - wide - 2 * pad))
        made = module.Surface((wide + pad + box, line + 2), module.SRCALPHA)
        made.blit(text, (0, 2))
        frame = module.Rect(wide + pad, 0, box, line + 2)
        module.draw.rect(made, WHITE, frame, border_radius=3)
        module.draw.rect(made, FAINT, frame, 1, border_radius=3)
        value = clean(widget.value, max(1, (box - pad) * 5 // (2 * line)))
        made.blit(words(value, line, INK), (wide + pad + pad // 2, 2))
    elif widget.kind == "tick":
        made = module.Surface((line + wide, line), module.SRCALPHA)
        centre, radius = (line // 2 - 1, line // 2 - 1), line // 3
        module.draw.circle(made, WHITE, centre, radius)
        module.draw.circle(made, LINK if widget.chosen else NEUTRAL, centre, radius, 1)
        if widget.chosen:
            module.draw.circle(made, LINK, centre, radius - 2)
        made.blit(text, (line, 1))
    else:
        made = module.Surface((wide, text.get_height() + 2), module.SRCALPHA)
        made.blit(text, (0, 0))
        if widget.kind == "link":
            module.draw.line(made, LINK, (0, made.get_height() - 3), (wide, made.get_height() - 3))
    return made
