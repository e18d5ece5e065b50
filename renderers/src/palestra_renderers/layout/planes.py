"""Things that lie and move anywhere on a square."""

from __future__ import annotations

from collections.abc import Sequence
from math import dist, inf

from palestra.scene import Plane, Spot

from palestra_renderers.layout.graphs import apart
from palestra_renderers.layout.labels import Box, around, label_disc
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import height_for
from palestra_renderers.marks import Circle, Rect, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import ink_on, paint_of

Disc = tuple[float, float, float]  # x, y, radius

LABEL = 18  # letters of a label
LEAST = 0.4  # of the radius of what others lie over, that is painted
HEAD = 5.0  # half the width of an arrow's head
BEYOND = 12.0  # units round the square, for arrows of what moves out of it


def lay_plane(plane: Plane, top: float, room: float, sheet: Sheet) -> float:
    """The ground, then landmarks, then what moves over them; returns the height used."""
    side = min(room, sheet.width - sheet.line) - 2 * BEYOND
    left, top = (sheet.width - side) / 2, top + BEYOND
    sheet.marks.append(Rect(left, top, side, side, "panel", "faint"))
    frame = (left, top, side)
    discs = [disc_of(spot, frame) for spot in plane.spots]
    middles = parted(plane.spots, discs, frame)
    for spot in plane.spots:  # before what stands there: no arrow crosses a name
        if is_moving(spot):
            sheet.arrow(*heading_of(spot, frame), "quiet")
    for number in sorted(range(len(discs)), key=lambda n: not plane.spots[n].landmark):
        lay_spot(number, plane, discs[number], middles, sheet)
    taken: list[Box] = [around((x, y), (2 * radius, 2 * radius)) for x, y, radius in discs]
    taken += [box_around(heading_of(spot, frame)) for spot in plane.spots if is_moving(spot)]
    square = (left, top, left + side, top + side)
    for spot, disc in zip(plane.spots, discs, strict=True):
        if spot.label:
            label_disc(clean(spot.label, LABEL), disc, square, taken, sheet)
    return side + 2 * BEYOND


def disc_of(spot: Spot, frame: tuple[float, float, float]) -> Disc:
    """The middle of a thing, moved inside the frame, and its radius."""
    left, top, side = frame
    radius = max(4.0, spot.radius * side)
    x = left + min(max(spot.x * side, radius), side - radius)
    y = top + min(max(spot.y * side, radius), side - radius)
    return x, y, radius


def is_moving(spot: Spot) -> bool:
    return spot.heading != (0.0, 0.0)


def heading_of(
    spot: Spot, frame: tuple[float, float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the arrow of a moving thing starts and ends, at most `BEYOND` the square's sides."""
    (x, y, radius), (left, top, side) = disc_of(spot, frame), frame
    far = max(1e-9, (spot.heading[0] ** 2 + spot.heading[1] ** 2) ** 0.5)
    a, b = spot.heading[0] / far, spot.heading[1] / far
    reach = radius + min(side / 8, max(10.0, far * side))
    for at, low, step in ((x, left, a), (y, top, b)):
        until = (low + side + BEYOND if step > 0 else low - BEYOND) - at
        reach = min(reach, until / step) if step else reach
    return (x, y), (x + a * reach, y + b * reach)


def box_around(ends: tuple[tuple[float, float], tuple[float, float]]) -> Box:
    """The box of an arrow with its head."""
    (x, y), (u, v) = ends
    return min(x, u) - HEAD, min(y, v) - HEAD, max(x, u) + HEAD, max(y, v) + HEAD


def parted(
    spots: Sequence[Spot], discs: Sequence[Disc], frame: tuple[float, float, float]
) -> dict[int, tuple[float, float]]:
    """Where the names of what moves stand, by its number: beside each other in one place too."""
    left, top, side = frame
    numbers = [number for number, spot in enumerate(spots) if not spot.landmark]
    places = tuple(((discs[n][0] - left) / side, (discs[n][1] - top) / side) for n in numbers)
    least = 2 * LEAST * min((discs[n][2] for n in numbers), default=0.0)
    found = apart(places, side, side, least)
    return {n: (left + x, top + y) for n, (x, y) in zip(numbers, found, strict=True)}


def lay_spot(
    number: int, plane: Plane, disc: Disc, middles: dict[int, tuple[float, float]], sheet: Sheet
) -> None:
    """A disc with its name; where others lie over it a smaller one in a ring of its size."""
    spot, (x, y, radius) = plane.spots[number], disc
    paint, inner = paint_of(spot.colour), radius
    if spot.landmark:
        sheet.marks.append(Circle(x, y, radius, paint))
    else:
        others = (dist(middles[number], at) for n, at in middles.items() if n != number)
        inner = min(radius, max(radius * LEAST, min(others, default=inf) / 2))
        if inner < radius:
            sheet.marks.append(Circle(x, y, radius, "", paint, 2))
            x, y = middles[number]
        sheet.dot(x, y, inner, paint)
    shown = clean(spot.name, 4)
    height = height_for(shown, inner * 1.7, inner * 1.4)
    if shown and height >= 8:
        sheet.marks.append(Words(x, y, shown, height, ink_on(paint), "middle"))
