"""Graphs: nodes where the game puts them, or on a circle."""

from __future__ import annotations

from math import cos, pi, sin

from palestra.scene import Graph

from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.marks import Line, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import ink_on, paint_of


def lay_graph(graph: Graph, top: float, room: float, sheet: Sheet) -> float:
    """Links first, then nodes over them; returns the height used."""
    count, line = len(graph.nodes), sheet.line
    radius = max(5.0, min(line * 0.9, sheet.width / (3 * max(1, count) ** 0.5) / 2))
    height = min(room, sheet.width * 0.9)
    spots = [
        place(node.place or circled(number, count), (top, height), radius, sheet)
        for number, node in enumerate(graph.nodes)
    ]
    for link in graph.links:
        start, end = spots[link.start], spots[link.end]
        paint = "faint" if link.colour == -1 else paint_of(link.colour)
        if link.directed:
            sheet.arrow(start, rim(start, end, radius), paint)
        else:
            sheet.marks.append(Line((start, end), paint, max(1.0, 2 * link.weight)))
        if link.label:
            x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
            sheet.marks.append(Words(x, y, clean(link.label, 16), line * 0.75, "quiet", "middle"))
    for node, (x, y) in zip(graph.nodes, spots, strict=True):
        paint = paint_of(node.colour)
        sheet.dot(x, y, radius, paint)
        name = clean(node.name, 4)
        size = min(radius * 1.5, 4 * radius / max(1, len(name)))
        sheet.marks.append(Words(x, y, name, max(8, size), ink_on(paint), "middle"))
        if node.label:
            sheet.write(
                node.label, x, y + radius + line * 0.45, room=sheet.width / 4,
                height=line * 0.75, anchor="middle",
            )  # fmt: skip
    return height


def circled(number: int, count: int) -> tuple[float, float]:
    angle = 2 * pi * number / max(1, count) - pi / 2
    return 0.5 + 0.5 * cos(angle), 0.5 + 0.5 * sin(angle)


def place(
    share: tuple[float, float], span: tuple[float, float], radius: float, sheet: Sheet
) -> tuple[float, float]:
    """A place in the unit square as a point of the sheet, with space for labels at the rim."""
    top, height = span
    side, edge = radius + sheet.line * 2, radius + sheet.line
    x = side + share[0] * (sheet.width - 2 * side)
    return x, top + edge + share[1] * max(1.0, height - 2 * edge)


def rim(start: tuple[float, float], end: tuple[float, float], radius: float) -> tuple[float, float]:
    """Where a line to a node meets its rim."""
    (x, y), (u, v) = start, end
    far = max(1e-9, ((u - x) ** 2 + (v - y) ** 2) ** 0.5)
    return u - (u - x) / far * (radius + 2), v - (v - y) / far * (radius + 2)
