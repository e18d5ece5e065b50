"""Graphs: nodes where the game puts them, or on a circle."""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin

from palestra.scene import Graph, Link

from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import height_for, text_width
from palestra_renderers.marks import Line, Rect, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import ink_on, paint_of

Spot = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom
ROUNDS = 40  # of pushing nodes apart
LABEL = 18  # letters of a label
CROWD = 24  # nodes


def lay_graph(graph: Graph, top: float, room: float, sheet: Sheet) -> float:
    """Links first, then nodes over them, then labels; returns the height used."""
    count, line = len(graph.nodes), sheet.line
    radius = max(5.0, min(line * 0.9, sheet.width / (3 * max(1, count) ** 0.5) / 2))
    height = min(room, sheet.width * 0.9)
    if any(node.place is None for node in graph.nodes):  # on a circle they must not touch
        radius = max(4.0, min(radius, 0.6 * (sheet.width + height) / max(1, count)))
    side, edge = radius + sheet.line * 2, radius + sheet.line
    places = tuple(node.place or spot_on_circle(n, count) for n, node in enumerate(graph.nodes))
    wide, high = sheet.width - 2 * side, max(1.0, height - 2 * edge)
    spots = [(side + x, top + edge + y) for x, y in apart(places, wide, high, radius * 2.7)]
    for link in graph.links:
        start, end = ends(graph, link, spots, radius)
        paint = "faint" if link.colour == -1 else paint_of(link.colour)
        if link.directed:
            sheet.arrow(start, rim(start, end, radius), paint, max(1.5, 2 * link.weight))
        else:
            sheet.marks.append(Line((start, end), paint, max(1.0, 2 * link.weight)))
    for node, (x, y) in zip(graph.nodes, spots, strict=True):
        paint = paint_of(node.colour)
        sheet.dot(x, y, radius, paint)
        name = clean(node.name, 4)
        size = height_for(name, radius * 1.7, radius * 1.5)
        sheet.marks.append(Words(x, y, name, max(8, size), ink_on(paint), "middle"))
    if count <= CROWD:  # labels of more would hide each other
        lay_labels(graph, spots, radius, (top, height), sheet)
    return height


def lay_labels(
    graph: Graph, spots: list[Spot], radius: float, span: tuple[float, float], sheet: Sheet
) -> None:
    """Every node's label on the side of it where it hides the least, and the links' labels."""
    size = sheet.line * 0.75
    taken: list[Box] = [(x - radius, y - radius, x + radius, y + radius) for x, y in spots]
    for node, (x, y) in zip(graph.nodes, spots, strict=True):
        if node.label:
            text = clean(node.label, LABEL)
            box = free_box((x, y), (text_width(text, size) + 4, size), radius, span, taken)
            write_boxed(text, box, size, sheet)
            taken.append(box)
    for link in graph.links:
        if link.label:
            text = clean(link.label, LABEL)
            wide = text_width(text, size) + 4
            (a, b), (c, d) = ends(graph, link, spots, radius)
            shares = (0.5, 0.35, 0.65)
            boxes = [
                around((a + (c - a) * share, b + (d - b) * share), (wide, size)) for share in shares
            ]
            box = min(boxes, key=lambda found: hidden_area(found, taken))
            write_boxed(text, box, size, sheet)
            taken.append(box)


def ends(graph: Graph, link: Link, spots: list[Spot], radius: float) -> tuple[Spot, Spot]:
    """Where a link begins and ends; of two that lead both ways each keeps to its right."""
    (x, y), (u, v) = spots[link.start], spots[link.end]
    if not link.directed or not any(
        other.directed and (other.start, other.end) == (link.end, link.start)
        for other in graph.links
    ):
        return (x, y), (u, v)
    far = max(1e-9, ((u - x) ** 2 + (v - y) ** 2) ** 0.5)
    across, down = -(v - y) / far * radius * 0.5, (u - x) / far * radius * 0.5
    return (x + across, y + down), (u + across, v + down)


def write_boxed(text: str, box: Box, size: float, sheet: Sheet) -> None:
    left, top, right, bottom = box
    sheet.marks.append(Rect(left, top, right - left, bottom - top, "paper"))
    middle = ((left + right) / 2, (top + bottom) / 2)
    sheet.marks.append(Words(*middle, text, size, "ink", "middle"))


def free_box(
    spot: Spot,
    form: tuple[float, float],
    radius: float,
    span: tuple[float, float],
    taken: list[Box],
) -> Box:
    """Below, above, right or left of a node: where the least is taken."""
    (x, y), (wide, high) = spot, form
    down, beside = radius + high * 0.6, radius + wide / 2 + 2
    middles = ((x, y + down), (x, y - down), (x + beside, y), (x - beside, y))
    boxes = [around(middle, form) for middle in middles]
    inside = [box for box in boxes if box[1] >= span[0] and box[3] <= span[0] + span[1]]
    return min(inside or boxes, key=lambda box: hidden_area(box, taken) + max(0.0, -box[0]) * high)


def around(middle: Spot, form: tuple[float, float]) -> Box:
    (x, y), (wide, high) = middle, form
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def hidden_area(box: Box, taken: list[Box]) -> float:
    """The area that a box shares with others."""
    total = 0.0
    for other in taken:
        across = min(box[2], other[2]) - max(box[0], other[0])
        down = min(box[3], other[3]) - max(box[1], other[1])
        total += max(0.0, across) * max(0.0, down)
    return total


def spot_on_circle(number: int, count: int) -> Spot:
    angle = 2 * pi * number / max(1, count) - pi / 2
    return 0.5 + 0.5 * cos(angle), 0.5 + 0.5 * sin(angle)


@lru_cache(maxsize=64)
def apart(places: tuple[Spot, ...], wide: float, high: float, least: float) -> tuple[Spot, ...]:
    """Places of the unit square in a box of this size, nodes that touch pushed apart."""
    spots = [[x * wide, y * high] for x, y in places]
    for _ in range(ROUNDS if len(spots) <= 60 else 0):
        moved = False
        for a in range(len(spots)):
            for b in range(a):
                dx, dy = spots[a][0] - spots[b][0], spots[a][1] - spots[b][1]
                far = (dx * dx + dy * dy) ** 0.5
                if far >= least:
                    continue
                moved = True
                if far < 1e-6:
                    dx, dy, far = cos(a), sin(a), 1.0
                push = (least - far) / 2 / far
                for spot, sign in ((spots[a], 1), (spots[b], -1)):
                    spot[0] = min(wide, max(0.0, spot[0] + sign * dx * push))
                    spot[1] = min(high, max(0.0, spot[1] + sign * dy * push))
        if not moved:
            break
    return tuple((x, y) for x, y in spots)


def rim(start: Spot, end: Spot, radius: float) -> Spot:
    """Where a line to a node meets its rim."""
    (x, y), (u, v) = start, end
    far = max(1e-9, ((u - x) ** 2 + (v - y) ** 2) ** 0.5)
    return u - (u - x) / far * (radius + 2), v - (v - y) / far * (radius + 2)
