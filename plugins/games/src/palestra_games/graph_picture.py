"""Where the nodes of a graph lie in a picture."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import networkx as nx

Places = tuple[tuple[float, float], ...]


def node_places(neighbours: Sequence[Sequence[int]]) -> Places:
    """A place in the unit square for every node; linked nodes lie near each other.

    The layout is Fruchterman and Reingold's (1991), the same for the same graph.
    """
    return _places(tuple(tuple(near) for near in neighbours))


@lru_cache(maxsize=64)
def _places(neighbours: tuple[tuple[int, ...], ...]) -> Places:
    graph = nx.Graph((a, b) for a, near in enumerate(neighbours) for b in near)
    graph.add_nodes_from(range(len(neighbours)))
    start = nx.circular_layout(graph)
    laid = nx.spring_layout(graph, pos=start, iterations=80, seed=0)
    spots = [tuple(map(float, laid[node])) for node in range(len(neighbours))]
    lows = [min(spot[axis] for spot in spots) for axis in (0, 1)]
    spans = [max(spot[axis] for spot in spots) - lows[axis] or 1.0 for axis in (0, 1)]
    return tuple(((spot[0] - lows[0]) / spans[0], (spot[1] - lows[1]) / spans[1]) for spot in spots)
