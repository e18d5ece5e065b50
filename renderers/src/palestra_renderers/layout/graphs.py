"""Graphs: nodes where the game puts them, or on a circle."""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin

import numpy as np
from palestra.scene import Graph, Link

from palestra_renderers.layout.labels import LEAST, Box, Spot, around, label_disc, label_line
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import height_for
from palestra_renderers.marks import Line, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import ink_on, paint_of

ROUNDS = 80  # of pushing nodes apart
LABEL = 18  # letters of a label
CROWD = 24  # nodes


def lay_graph(graph: Graph, top: float, room: float, sheet: Sheet) -> float:
    """Links first, then nodes over them, then labels; returns the height used."""
    count = len(graph.nodes)
    height = min(room, sheet.width * 0.9)
    radius = node_radius(graph, height, sheet)
    labelled = count <= CROWD  # labels of more would hide each other
    side, edge = radius + sheet.line * (2 if labelled else 0.5), radius + sheet.line * labelled
    places = tuple(node.place or spot_on_circle(n, count) for n, node in enumerate(graph.nodes))
    wide, high = max(1.0, sheet.width - 2 * side), max(1.0, height - 2 * edge)
    if not labelled:
        places = stretched(places)
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
        if size >= LEAST:
            sheet.marks.append(Words(x, y, name, size, ink_on(paint), "middle"))
    if labelled:
        lay_labels(graph, spots, radius, (0, top, sheet.width, top + height), sheet)
    return height


def node_radius(graph: Graph, height: float, sheet: Sheet) -> float:
    """The radius of nodes: as many as there are take at most a third of the space."""
    count = max(1, len(graph.nodes))
    radius = min(sheet.line * 0.9, 0.33 * (sheet.width * height / count) ** 0.5)
    if any(node.place is None for node in graph.nodes):  # on a circle they must not touch
        radius = min(radius, 0.6 * (sheet.width + height) / count)
    return max(4.0, radius)


def stretched(places: tuple[Spot, ...]) -> tuple[Spot, ...]:
    """Places moved so that they reach all four sides of the unit square."""
    spots = np.array(places)
    low, high = spots.min(0), spots.max(0)
    moved = (spots - low) / np.maximum(1e-9, high - low)
    return tuple((float(x), float(y)) for x, y in moved)


def lay_labels(graph: Graph, spots: list[Spot], radius: float, frame: Box, sheet: Sheet) -> None:
    """The labels of nodes, then those of links, where they hide nothing."""
    taken: list[Box] = [around(spot, (2 * radius, 2 * radius)) for spot in spots]
    for node, (x, y) in zip(graph.nodes, spots, strict=True):
        if node.label:
            label_disc(clean(node.label, LABEL), (x, y, radius), frame, taken, sheet)
    for link in graph.links:
        if link.label:
            label_line(
                clean(link.label, LABEL), ends(graph, link, spots, radius), frame, taken, sheet
            )


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


def spot_on_circle(number: int, count: int) -> Spot:
    angle = 2 * pi * number / max(1, count) - pi / 2
    return 0.5 + 0.5 * cos(angle), 0.5 + 0.5 * sin(angle)


@lru_cache(maxsize=64)
def apart(places: tuple[Spot, ...], wide: float, high: float, least: float) -> tuple[Spot, ...]:
    """Places of the unit square in a box of this size, nodes that touch pushed apart."""
    size = np.array((wide, high))
    spots = np.array(places).reshape(-1, 2) * size
    around = np.arange(len(spots))[:, None] + np.array((0.0, np.pi / 2))
    spots = spots + 1e-3 * np.sin(around)  # those on one place leave it in different directions
    for _ in range(ROUNDS):
        steps = spots[:, None] - spots[None]
        far = np.sqrt((steps**2).sum(2)) + np.eye(len(spots)) * least
        if far.min(initial=least) >= least:
            break
        push = np.maximum(0.0, least - far) / 2 / np.maximum(far, 1e-9)
        spots = np.clip(spots + (steps * push[:, :, None]).sum(1), 0.0, size)
    return tuple((float(x), float(y)) for x, y in spots)


def rim(start: Spot, end: Spot, radius: float) -> Spot:
    """Where a line to a node meets its rim."""
    (x, y), (u, v) = start, end
    far = max(1e-9, ((u - x) ** 2 + (v - y) ** 2) ** 0.5)
    return u - (u - x) / far * (radius + 2), v - (v - y) / far * (radius + 2)
