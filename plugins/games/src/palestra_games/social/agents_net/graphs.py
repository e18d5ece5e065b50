"""The communication graphs of AgentsNet, drawn from a seeded generator.

Small worlds after Watts and Strogatz (every agent joined to its four nearest on a ring, links
rewired with probability 0.4, drawn again until connected), scale-free graphs after Barabási and
Albert (every newcomer joins two, in proportion to their degree), and Delaunay triangulations of
random points. They are drawn here and not by a library, whose next version might draw other graphs
from the same seed: a record replays for good. A graph is a tuple of neighbours by seat, in
ascending order.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx
from palestra import Rng

Neighbours = tuple[tuple[int, ...], ...]
Edge = tuple[int, int]
Point = tuple[int, int]

KINDS = ("small-world", "scale-free", "delaunay")
NEAREST, REWIRED = 4, 0.4
JOINS = 2
SIDE = 1 << 16  # points lie on a square grid of this many lines
FAR = 1 << 60  # beyond every circle through three points of the grid, so that the hull is kept


def draw_graph(kind: str, agents: int, rng: Rng) -> Neighbours:
    """A connected graph of one of `KINDS`; a seat says nothing about an agent's place in it."""
    if kind == "delaunay":
        return delaunay(points(agents, rng))
    graph = small_world(agents, rng) if kind == "small-world" else scale_free(agents, rng)
    seats = list(range(agents))
    rng.shuffle(seats)
    return from_edges(agents, ((seats[a], seats[b]) for a in seats for b in graph[a]))


def from_edges(agents: int, edges: Iterable[Edge]) -> Neighbours:
    """The graph with these links, which may be given in both directions."""
    near: list[set[int]] = [set() for _ in range(agents)]
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    return tuple(tuple(sorted(others)) for others in near)


def is_connected(graph: Neighbours) -> bool:
    """Whether there is a way from every agent to every other."""
    return bool(nx.is_connected(_as_networkx(graph)))


def diameter(graph: Neighbours) -> int:
    """The most steps from any agent to any other, in a connected graph."""
    return int(nx.diameter(_as_networkx(graph)))


def _as_networkx(graph: Neighbours) -> nx.Graph:
    return nx.Graph(dict(enumerate(graph)))


def small_world(agents: int, rng: Rng) -> Neighbours:
    """A connected small world after Watts and Strogatz."""
    while True:
        graph = _rewire(agents, rng)
        if is_connected(graph):
            return graph


def _rewire(agents: int, rng: Rng) -> Neighbours:
    """A ring of neighbours with links rewired, connected or not."""
    if agents <= NEAREST + 1:
        return from_edges(agents, ((a, b) for a in range(agents) for b in range(a)))
    steps = range(1, NEAREST // 2 + 1)
    near: list[set[int]] = [set() for _ in range(agents)]
    for a in range(agents):
        for step in steps:
            _join(near, a, (a + step) % agents)
    for step in steps:
        for a in range(agents):
            if rng.random() >= REWIRED or len(near[a]) >= agents - 1:
                continue
            other = rng.below(agents)
            while other == a or other in near[a]:
                other = rng.below(agents)
            _part(near, a, (a + step) % agents)
            _join(near, a, other)
    return tuple(tuple(sorted(others)) for others in near)


def _join(near: list[set[int]], a: int, b: int) -> None:
    near[a].add(b)
    near[b].add(a)


def _part(near: list[set[int]], a: int, b: int) -> None:
    near[a].discard(b)
    near[b].discard(a)


def scale_free(agents: int, rng: Rng) -> Neighbours:
    """A scale-free graph after Barabási and Albert."""
    edges = [(0, other) for other in range(1, JOINS + 1)]
    ends = [end for edge in edges for end in edge]  # every agent as often as its degree
    for newcomer in range(JOINS + 1, agents):
        joined: set[int] = set()
        while len(joined) < JOINS:
            joined.add(rng.choice(ends))
        for other in sorted(joined):
            edges.append((newcomer, other))
            ends += (newcomer, other)
    return from_edges(agents, edges)


def points(agents: int, rng: Rng) -> list[Point]:
    """Different points, drawn evenly."""
    found: dict[Point, None] = {}
    while len(found) < agents:
        found[(rng.below(SIDE), rng.below(SIDE))] = None
    return list(found)


def delaunay(places: list[Point]) -> Neighbours:
    """The Delaunay triangulation of points, by insertion (Bowyer 1981, Watson 1981).

    Coordinates are whole numbers, so that which circle holds which point is decided exactly.
    """
    count = len(places)
    corners = [*places, (-3 * FAR, -3 * FAR), (3 * FAR, -2 * FAR), (0, 3 * FAR)]
    triangles = {(count, count + 1, count + 2)}  # each counter-clockwise
    for new in range(count):
        broken = [t for t in triangles if _in_circle(t, corners, corners[new])]
        sides = {(t[i], t[(i + 1) % 3]) for t in broken for i in range(3)}
        triangles.difference_update(broken)
        triangles |= {(a, b, new) for a, b in sides if (b, a) not in sides}
    sides = {(t[i], t[(i + 1) % 3]) for t in triangles for i in range(3)}
    return from_edges(count, (side for side in sides if max(side) < count))


def _in_circle(triangle: tuple[int, int, int], places: list[Point], p: Point) -> bool:
    """Whether `p` lies inside the circle through a counter-clockwise triangle's corners."""
    a, b, c = (places[corner] for corner in triangle)
    ax, ay = a[0] - p[0], a[1] - p[1]
    bx, by = b[0] - p[0], b[1] - p[1]
    cx, cy = c[0] - p[0], c[1] - p[1]
    aa, bb, cc = ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy
    return ax * (by * cc - bb * cy) - ay * (bx * cc - bb * cx) + aa * (bx * cy - by * cx) > 0
