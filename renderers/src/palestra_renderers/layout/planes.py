"""Things that lie and move anywhere on a square."""

from __future__ import annotations

from palestra.scene import Plane, Spot

from palestra_renderers.layout.labels import Box, around, label_disc
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import height_for
from palestra_renderers.marks import Circle, Rect, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import ink_on, paint_of

LABEL = 18  # letters of a label
HEAD = 5.0  # half the width of an arrow's head
BEYOND = 12.0  # units round the square, for arrows of what moves out of it


def lay_plane(plane: Plane, top: float, room: float, sheet: Sheet) -> float:
    """The ground, then landmarks, then what moves over them; returns the height used."""
    side = min(room, sheet.width - sheet.line) - 2 * BEYOND
    left, top = (sheet.width - side) / 2, top + BEYOND
    sheet.marks.append(Rect(left, top, side, side, "panel", "faint"))
    frame = (left, top, side)
    for spot in sorted(plane.spots, key=lambda spot: not spot.landmark):
        lay_spot(spot, frame, sheet)
    discs = [disc_of(spot, frame) for spot in plane.spots]
    taken: list[Box] = [around((x, y), (2 * radius, 2 * radius)) for x, y, radius in discs]
    taken += [box_around(heading_of(spot, frame)) for spot in plane.spots if is_moving(spot)]
    square = (left, top, left + side, top + side)
    for spot, disc in zip(plane.spots, discs, strict=True):
        if spot.label:
            label_disc(clean(spot.label, LABEL), disc, square, taken, sheet)
    return side + 2 * BEYOND


def disc_of(spot: Spot, frame: tuple[float, float, float]) -> tuple[float, float, float]:
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


def lay_spot(spot: Spot, frame: tuple[float, float, float], sheet: Sheet) -> None:
    x, y, radius = disc_of(spot, frame)
    paint = paint_of(spot.colour)
    if is_moving(spot):
        sheet.arrow(*heading_of(spot, frame), "quiet")
    if spot.landmark:
        sheet.marks.append(Circle(x, y, radius, paint))
    else:
        sheet.dot(x, y, radius, paint)
    shown = clean(spot.name, 4)
    height = height_for(shown, radius * 1.7, radius * 1.4)
    if shown and height >= 8:
        sheet.marks.append(Words(x, y, shown, height, ink_on(paint), "middle"))
