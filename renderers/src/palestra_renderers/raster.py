"""Marks as pixels on a pygame surface.

Shapes with round or slanted edges are drawn once at four times their size, made smaller, and kept:
pygame's own circles have stairs, and a kept surface is copied faster than a circle is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Any

from palestra_renderers.drawing import MASKS, pygame, words, words_on
from palestra_renderers.marks import Circle, Layer, Line, Mark, Polygon, Rect, Sprite, Words
from palestra_renderers.sprites import sprite_svg
from palestra_renderers.theme import NIGHT, PAINTS, Rgb, hexcode

FINER = 4
NOTHING: Rgb = (0, 0, 0)


def rgb(paint: str) -> Rgb:
    return PAINTS[paint] if paint else NOTHING


def paint_marks(surface: Any, marks: Iterable[Mark]) -> None:
    """Draw marks in their order."""
    for mark in marks:
        PAINTERS[type(mark)](surface, mark)


def at_night(mark: Mark) -> Mark:
    """A mark in the dark colours; layers, which are kept, remain the same for the same marks."""
    if isinstance(mark, Layer):
        found = NIGHTLY.get(id(mark.marks))
        if found is None:
            if len(NIGHTLY) >= MOST_NIGHTLY:
                NIGHTLY.clear()
            ground = Rect(0, 0, mark.width, mark.height, f"{NIGHT}paper")
            found = (mark.marks, (ground, *map(at_night, mark.marks)))
            NIGHTLY[id(mark.marks)] = found
        return Layer(mark.x, mark.y, mark.width, mark.height, found[1])
    values = zip(type(mark).__annotations__, mark, strict=True)
    dark: Any = [f"{NIGHT}{v}" if name in COLOURS and v else v for name, v in values]
    return type(mark)(*dark)


COLOURS = ("fill", "edge", "colour", "ground")  # the fields of marks that hold them
NIGHTLY: dict[int, tuple[tuple[Mark, ...], tuple[Mark, ...]]] = {}
MOST_NIGHTLY = 4_096


def paint_rect(surface: Any, mark: Rect) -> None:
    x, y, wide, high = int(mark.x), int(mark.y), round(mark.width), round(mark.height)
    rounded = int(mark.radius)
    if not rounded:
        if mark.fill:
            surface.fill(PAINTS[mark.fill], (x, y, wide, high))
        if mark.edge:
            thick = max(1, round(mark.thick))
            pygame().draw.rect(surface, PAINTS[mark.edge], (x, y, wide, high), thick)
        return
    module = pygame()
    if mark.fill:
        module.draw.rect(surface, PAINTS[mark.fill], (x, y, wide, high), border_radius=rounded)
    if mark.edge:
        thick = max(1, round(mark.thick))
        module.draw.rect(
            surface, PAINTS[mark.edge], (x, y, wide, high), thick, border_radius=rounded
        )


def paint_circle(surface: Any, mark: Circle) -> None:
    ready = disc(round(mark.radius * 2) / 2, mark.fill, mark.edge, max(1, round(mark.thick)))
    half = ready.get_width() // 2
    surface.blit(ready, (int(mark.x) - half, int(mark.y) - half))


@lru_cache(maxsize=512)
def disc(radius: float, fill: str, edge: str, thick: int) -> Any:
    """A circle with smooth edges."""
    module = pygame()
    side = 2 * ceil(radius + thick) + 1
    large = module.Surface((side * FINER, side * FINER), module.SRCALPHA)
    middle = (side * FINER // 2, side * FINER // 2)
    reach = max(1, round(radius * FINER))
    # what is transparent has the colour of what is not, so that no dark seam appears
    large.fill((*rgb(fill or edge), 0))
    if fill:
        module.draw.circle(large, PAINTS[fill], middle, reach)
    if edge:
        module.draw.circle(large, PAINTS[edge], middle, reach, thick * FINER)
    return module.transform.smoothscale(large, (side, side))


def paint_polygon(surface: Any, mark: Polygon) -> None:
    """A closed figure; a large one has its stairs, which cost too much to smooth."""
    points = [(round(x), round(y)) for x, y in mark.points]
    left, top = min(x for x, _ in points), min(y for _, y in points)
    wide, high = max(x for x, _ in points) - left, max(y for _, y in points) - top
    thick = max(1, round(mark.thick))
    if max(wide, high) > LARGE:
        if mark.fill:
            pygame().draw.polygon(surface, PAINTS[mark.fill], points)
        if mark.edge:
            pygame().draw.polygon(surface, PAINTS[mark.edge], points, thick)
        return
    inside = tuple((x - left, y - top) for x, y in points)
    ready = figure(inside, (wide, high), mark.fill, mark.edge, thick)
    surface.blit(ready, (left - EDGE, top - EDGE))


LARGE, EDGE = 240, 4


@lru_cache(maxsize=512)
def figure(
    points: tuple[tuple[int, int], ...], size: tuple[int, int], fill: str, edge: str, thick: int
) -> Any:
    """A closed figure with smooth edges, `EDGE` pixels inside its surface."""
    module = pygame()
    wide, high = size[0] + 2 * EDGE + 1, size[1] + 2 * EDGE + 1
    large = module.Surface((wide * FINER, high * FINER), module.SRCALPHA)
    large.fill((*rgb(edge or fill), 0))
    half = FINER // 2
    corners = [((x + EDGE) * FINER + half, (y + EDGE) * FINER + half) for x, y in points]
    if fill:
        module.draw.polygon(large, PAINTS[fill], corners)
    if edge:
        module.draw.lines(large, PAINTS[edge], True, corners, thick * FINER)
    return module.transform.smoothscale(large, (wide, high))


def paint_line(surface: Any, mark: Line) -> None:
    colour, thick = PAINTS[mark.colour], max(1, round(mark.thick))
    points = [(round(x), round(y)) for x, y in mark.points]
    for (x, y), (u, v) in pairwise(points):
        if x == u or y == v:
            pygame().draw.line(surface, colour, (x, y), (u, v), thick)
        else:
            ready = bar(u - x, v - y, thick, colour)
            surface.blit(ready, (min(x, u) - thick, min(y, v) - thick))


@lru_cache(maxsize=256)
def bar(across: int, down: int, thick: int, colour: Rgb) -> Any:
    """A slanted bar with smooth edges and `thick` pixels of space around its ends.

    pygame's own smooth lines write past the end of surfaces of 24 bits.
    """
    module = pygame()
    wide, high = abs(across) + 2 * thick, abs(down) + 2 * thick
    finer = FINER if max(wide, high) <= LARGE else 2
    large = module.Surface((wide * finer, high * finer), module.SRCALPHA)
    large.fill((*colour, 0))
    x, y = thick + max(0, -across), thick + max(0, -down)
    far = (across * across + down * down) ** 0.5
    a, b = down / far * thick / 2, across / far * thick / 2
    corners = [
        (x + a, y - b),
        (x + across + a, y + down - b),
        (x + across - a, y + down + b),
        (x - a, y + b),
    ]
    module.draw.polygon(large, colour, [(p * finer, q * finer) for p, q in corners])
    return module.transform.smoothscale(large, (wide, high))


def paint_words(surface: Any, mark: Words) -> None:
    if mark.ground:
        paints = PAINTS[mark.colour], PAINTS[mark.ground]
        line = words_on(mark.text, mark.height, *paints, mark.face)
    else:
        line = words(mark.text, mark.height, PAINTS[mark.colour], mark.face)
    wide, high = line.get_size()
    left = mark.x
    if mark.anchor == "middle":
        left -= wide / 2
    elif mark.anchor == "end":
        left -= wide
    surface.blit(line, (round(left), round(mark.y - high / 2 + 1)))


def paint_sprite(surface: Any, mark: Sprite) -> None:
    ready = sprite(mark.name, max(6, round(mark.size)), mark.colour, mark.edge, mark.turn)
    wide, high = ready.get_size()
    surface.blit(ready, (round(mark.x - wide / 2), round(mark.y - high / 2)))


@lru_cache(maxsize=1024)
def sprite(name: str, size: int, colour: str, edge: str, turn: int) -> Any:
    """A sprite of this size and colour."""
    module = pygame()
    svg = sprite_svg(name, size * 2, hexcode(PAINTS[colour]), hexcode(PAINTS[edge]) if edge else "")
    large = module.image.load(io.BytesIO(svg), "sprite.svg")
    ready = module.transform.smoothscale(large, (size, size))
    return module.transform.rotate(ready, -turn) if turn else ready


def paint_layer(surface: Any, mark: Layer) -> None:
    x, y, wide, high, marks = mark
    found = LAYERS.get((id(marks), wide, high))
    surface.blit(found[1] if found else keep_layer(mark), (x, y))


# Layouts return the same marks for the same thing, so that their identity will do as a key, which
# is found in a hundredth of the time that comparing them takes. The marks are kept along with it.
LAYERS: dict[tuple[int, float, float], tuple[tuple[Mark, ...], Any]] = {}
MOST_BYTES = 48_000_000  # of the surfaces that are kept; then all are drawn anew


def keep_layer(mark: Layer) -> Any:
    """Draw a layer and keep it."""
    held = sum(kept.get_width() * kept.get_height() * 3 for _, kept in LAYERS.values())
    if held > MOST_BYTES:
        LAYERS.clear()
    ready = ready_layer(mark)
    LAYERS[id(mark.marks), mark.width, mark.height] = (mark.marks, ready)
    return ready


def ready_layer(mark: Layer) -> Any:
    """A layer's marks on the paper's colour, drawn at twice their size for smooth edges."""
    module, size = pygame(), (ceil(mark.width), ceil(mark.height))
    large = module.Surface((2 * size[0], 2 * size[1]), depth=24, masks=MASKS)
    large.fill(PAINTS["paper"])
    paint_marks(large, map(double, mark.marks))
    ready = module.Surface(size, depth=24, masks=MASKS)
    module.transform.smoothscale(large, size, ready)
    return ready


def double(mark: Any) -> Any:
    """A mark at twice its size; the angle of a sprite stays."""
    if isinstance(mark, Sprite):
        return Sprite(2 * mark.x, 2 * mark.y, 2 * mark.size, *mark[3:])
    return type(mark)(*map(twice, mark))


def twice(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(twice, value))
    return value if isinstance(value, str) else 2 * value


PAINTERS: dict[type, Callable[[Any, Any], None]] = {
    Rect: paint_rect,
    Circle: paint_circle,
    Polygon: paint_polygon,
    Line: paint_line,
    Words: paint_words,
    Sprite: paint_sprite,
    Layer: paint_layer,
}
