"""Read the graphs of AgentsNet from the JSON files that its authors' program writes.

A file such as `graphs/graph_ws_8_0.json` (and the column `graph` of the published table) holds
networkx's node-link form under "graph", with "nodes" and "links", beside facts about it:

    {"graph": {"nodes": [{"id": 0, "name": "Mary"}, …], "links": [{"source": 0, "target": 1}, …]},
     "num_nodes": 8, "diameter": 2, …}

Agents are seated in the order of the nodes. Their names are not used: the game draws its own.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from palestra import InvalidOption
from palestra.files import read_file

from palestra_games.social.agents_net.graphs import Edge, diameter, from_edges, is_connected


def read_graph(path: str) -> tuple[int, tuple[Edge, ...]]:
    """The number of agents and the links of a file's graph, both from 0.

    Raises `InvalidOption` that names the file and the line, or the node or link, that is wrong.
    """
    try:
        stamp = Path(path).stat().st_mtime_ns
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidOption(f"cannot read a graph from {path}: {why}") from error
    return _read(path, stamp)


@lru_cache(maxsize=64)
def _read(path: str, stamp: int) -> tuple[int, tuple[Edge, ...]]:
    try:
        found = json.loads(read_file(path).decode("utf-8"))
    except json.JSONDecodeError as error:
        raise InvalidOption(f"{path}, line {error.lineno}: {error.msg}") from error
    except (OSError, ValueError, RecursionError) as error:  # bytes, digits or brackets without end
        raise InvalidOption(f"cannot read a graph from {path}: {error}") from error
    graph = found.get("graph") if isinstance(found, dict) else None
    if not isinstance(graph, dict) or not all(
        isinstance(graph.get(part), list) for part in ("nodes", "links")
    ):
        raise InvalidOption(f'{path} must hold "graph" with the lists "nodes" and "links"')
    seats = _seats(path, graph["nodes"])
    edges = tuple(_edge(path, seats, number, link) for number, link in enumerate(graph["links"]))
    _check(path, found, len(seats), edges)
    return len(seats), edges


def _seats(path: str, nodes: list[Any]) -> dict[Any, int]:
    """The seat of every node's id."""
    seats: dict[Any, int] = {}
    for number, node in enumerate(nodes):
        name = node.get("id") if isinstance(node, dict) else None
        if not isinstance(name, int | str) or name in seats:
            raise InvalidOption(f'{path}, node {number}: it needs an "id" of its own, not {node!r}')
        seats[name] = number
    return seats


def _edge(path: str, seats: dict[Any, int], number: int, link: Any) -> Edge:
    """The seats that a link joins."""
    ends = [link.get(end) for end in ("source", "target")] if isinstance(link, dict) else []
    known = [seats[end] for end in ends if isinstance(end, int | str) and end in seats]
    if len(known) != 2 or known[0] == known[1]:
        raise InvalidOption(
            f'{path}, link {number}: "source" and "target" must be two nodes, not {link!r}'
        )
    return known[0], known[1]


def _check(path: str, found: dict[str, Any], agents: int, edges: tuple[Edge, ...]) -> None:
    """Raise `InvalidOption` unless the graph connects all, and is what the file says of it."""
    graph = from_edges(agents, edges)
    if not agents or not is_connected(graph):
        raise InvalidOption(f"{path}: the links must connect all {agents} nodes")
    facts = {"num_nodes": agents, "diameter": diameter(graph)}
    facts["max_degree"] = max(map(len, graph))
    for name, value in facts.items():
        if name in found and found[name] != value:
            raise InvalidOption(f"{path}: {name} is {value}, not {found[name]!r} as the file says")
