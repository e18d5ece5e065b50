"""Boards of hexagons, with what lies on their sides and corners."""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin, sqrt

from palestra.scene import Colour, Hexes

from palestra_renderers.layout.grid import FILLS, lay_piece
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import text_width
from palestra_renderers.marks import Layer, Line, Mark, Place, Polygon, Rect, Words
from palestra_renderers.theme import paint_of

CORNERS = tuple((sin(pi / 3 * k), -cos(pi / 3 * k)) for k in range(6))
OUTSIDE = 1.85  # times the way from a tile's middle to its side: where the side's label stands
LETTERS = 0.8  # of the height of a line: a plate that its numbers fill
Spot = tuple[float, float]
Ground = tuple[tuple[int, int, Colour], ...]


def lay_hexes(board: Hexes, top: float, room: float, sheet: Sheet) -> float:
    """Draw the tiles as large as fits; returns the height used."""
    ground: Ground = tuple((tile.q, tile.r, tile.ground) for tile in board.tiles)
    size, left, up, height = measures(
        ground, sheet.width - 16, room, 3 * sheet.line, spare=any(e.label for e in board.edges)
    )
    x, y = (sheet.width - 16) / 2 + 8 - left, top - up
    marks = empty_tiles(ground, (x, y - top, size))
    sheet.marks.append(Layer(0, top, sheet.width, height + 1, marks))
    for kind, number in board.marks:
        tile = board.tiles[number]
        middle = centre(tile.q, tile.r, (x, y, size))
        rim = "winning" if kind == "winning" else "mark" if kind == "changed" else "ink"
        sheet.marks.append(Polygon(outline(middle, size * 0.96), FILLS[kind], rim, 2))
    for edge in board.edges:
        middle = centre(edge.q, edge.r, (x, y, size))
        ends = (spot(middle, size, edge.side), spot(middle, size, (edge.side + 1) % 6))
        if edge.name:
            at = ((ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2)
            box = (at[0] - size / 4, at[1] - size / 4, size / 2, size / 2)
            sheet.places.append(Place(box, edge.name))
        if edge.colour == "":
            continue
        sheet.marks.append(Line(ends, "black", max(4, size / 5)))
        sheet.marks.append(Line(ends, paint_of(edge.colour), max(2, size / 7)))
    for tile in board.tiles:
        cx, cy = centre(tile.q, tile.r, (x, y, size))
        if tile.piece is not None:
            half = size * (0.6 if tile.piece.under or tile.piece.badge else 0.78)
            lay_piece(tile.piece, (cx - half, cy - half, 2 * half, 2 * half), sheet, token=True)
        if tile.name:
            box = (cx - size * 0.6, cy - size * 0.6, size * 1.2, size * 1.2)
            sheet.places.append(Place(box, tile.name))
    for corner in board.corners:
        cx, cy = spot(centre(corner.q, corner.r, (x, y, size)), size, corner.corner)
        half = size * 0.36
        box = (cx - half, cy - half, 2 * half, 2 * half)
        if corner.piece.shape == "small":
            lay_number(corner.piece.glyph, (cx, cy), half, sheet)
        else:
            lay_piece(corner.piece, box, sheet)
        if corner.name:
            sheet.places.append(Place(box, corner.name))
    for edge in board.edges:
        if edge.label:
            middle = centre(edge.q, edge.r, (x, y, size))
            (a, b), (c, d) = (spot(middle, size, s % 6) for s in (edge.side, edge.side + 1))
            # outside its tile, on a ground of its own: the sides of tiles are dark
            cx = middle[0] + ((a + c) / 2 - middle[0]) * OUTSIDE
            cy = middle[1] + ((b + d) / 2 - middle[1]) * OUTSIDE
            across, tall = text_width(edge.label, size / 3) + size / 6, size * 0.4
            pill = Rect(cx - across / 2, cy - tall / 2, across, tall, "panel", "quiet", 1, tall / 3)
            sheet.marks += [pill, Words(cx, cy, edge.label, size / 3, "ink", "middle")]
    return height


def lay_number(text: str, middle: Spot, half: float, sheet: Sheet) -> None:
    """The number of a corner on a plate of its own, since sides and roads meet there."""
    x, y = middle
    height = max(9.0, half * 0.8)
    across, tall = text_width(text, height) + 2, height * LETTERS
    plate = Rect(x - across / 2, y - tall / 2, across, tall, "paper", "", 1, tall / 3)
    sheet.marks += [plate, Words(x, y, text, height, "quiet", "middle")]


@lru_cache(maxsize=64)
def measures(
    ground: Ground, wide: float, tall: float, most: float, *, spare: bool
) -> tuple[float, ...]:
    """A tile's size (from its middle to a corner), the middle of all, their top, their height.

    `spare` keeps space for labels around the board.
    """
    spots = [centre(q, r, (0.0, 0.0, 1.0)) for q, r, _ in ground]
    left, right = min(x for x, _ in spots), max(x for x, _ in spots)
    up, down = min(y for _, y in spots), max(y for _, y in spots)
    more = OUTSIDE - 1 if spare else 0.0
    size = min(wide / (right - left + sqrt(3) + 2 * more), tall / (down - up + 2 + more), most)
    top, height = up - 1 - more / 2, down - up + 2 + more
    return size, (left + right) / 2 * size, top * size, height * size


def centre(q: int, r: int, frame: tuple[float, float, float]) -> Spot:
    x, y, size = frame
    return x + size * sqrt(3) * (q + r / 2), y + size * 1.5 * r


def spot(middle: Spot, size: float, corner: int) -> Spot:
    """A corner of a tile: 0 at the top, then clockwise."""
    return middle[0] + CORNERS[corner][0] * size, middle[1] + CORNERS[corner][1] * size


def outline(middle: Spot, size: float) -> tuple[Spot, ...]:
    return tuple(spot(middle, size, corner) for corner in range(6))


@lru_cache(maxsize=16)
def empty_tiles(ground: Ground, frame: tuple[float, float, float]) -> tuple[Mark, ...]:
    """The tiles alone, drawn once as long as they stay as they are."""
    marks: list[Mark] = []
    for q, r, colour in ground:
        paint = "cell" if colour == "" else paint_of(colour)
        marks.append(Polygon(outline(centre(q, r, frame), frame[2] * 0.98), paint, "quiet", 1))
    return tuple(marks)
