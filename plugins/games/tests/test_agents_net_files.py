"""Graphs of AgentsNet's data set, in the format that networkx writes and its authors publish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import palestra
import pytest
from networkx.readwrite import json_graph
from palestra import InvalidOption
from palestra_games.social.agents_net.files import read_graph
from palestra_games.social.agents_net.game import AgentsNet
from palestra_games.social.agents_net.graphs import diameter

STAR = nx.Graph([(0, 1), (0, 2), (0, 3), (3, 4)])  # uneven: one of degree three, three leaves


def written(graph: nx.Graph, **facts: Any) -> dict[str, Any]:
    """What the authors' `generate_graphs.py` writes for a graph."""
    named = graph.copy()
    nx.set_node_attributes(named, {node: f"Name{node}" for node in named}, "name")
    data: dict[str, Any] = {
        "graph": json_graph.node_link_data(named, edges="links"),
        "num_nodes": len(graph.nodes()),
        "diameter": nx.diameter(graph),
        "max_degree": max(dict(graph.degree()).values()),
        "graph_seed": 1825,
        "seed": 42,
    }
    return data | facts


def saved(folder: Path, data: object) -> str:
    path = folder / "graph_ba_5_0.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data, indent=4), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    "graph", [STAR, nx.connected_watts_strogatz_graph(16, 4, 0.4, seed=3), nx.path_graph(4)]
)
def test_a_file_holds_the_graph_that_networkx_wrote(tmp_path: Path, graph: nx.Graph) -> None:
    agents, edges = read_graph(saved(tmp_path, written(graph)))
    assert agents == len(graph)
    assert nx.utils.graphs_equal(nx.Graph(edges), nx.Graph(graph.edges))
    game = AgentsNet(num_players=agents, graph_file=saved(tmp_path, written(graph)))
    net = game.initial_state(0).net
    assert diameter(net.neighbours) == nx.diameter(graph)
    assert [len(near) for near in net.neighbours] == [graph.degree[seat] for seat in graph]


def test_the_oracle_solves_a_graph_from_a_file(tmp_path: Path) -> None:
    path = saved(tmp_path, written(STAR))
    records = palestra.play(
        "games/AgentsNet-v0",
        agents="agents-net-oracle",
        num_players=5,
        graph_file=path,
        task="matching",
        rounds=7,
        episodes=2,
    )
    assert [record.returns for record in records] == [(1.0,) * 5] * 2
    assert palestra.measure(records[0])["network-solved"] == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('{\n  "graph": {,\n}', r"line 2: Expecting property name"),
        ([1, 2], r'must hold "graph"'),
        ({"graph": {"nodes": []}}, r'must hold "graph"'),
        ({"graph": {"nodes": [{"name": "Mary"}], "links": []}}, r'node 0: it needs an "id"'),
        (
            {"graph": {"nodes": [{"id": 0}, {"id": 0}], "links": []}},
            r'node 1: it needs an "id" of its own',
        ),
        (
            {"graph": {"nodes": [{"id": 0}, {"id": 1}], "links": [{"source": 0, "target": 2}]}},
            r'link 0: "source" and "target" must be two nodes',
        ),
        ({"graph": {"nodes": [{"id": 0}, {"id": 1}], "links": []}}, r"must connect all 2 nodes"),
        (written(STAR, diameter=4), r"diameter is 3, not 4"),
        (written(STAR, num_nodes=6), r"num_nodes is 5, not 6"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, data: object, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        read_graph(saved(tmp_path, data))


def test_options_must_fit_the_file(tmp_path: Path) -> None:
    path = saved(tmp_path, written(STAR))
    with pytest.raises(InvalidOption, match="has 5 agents: set num_players=5, not 8"):
        AgentsNet(graph_file=path)
    with pytest.raises(InvalidOption, match="either edges or graph_file"):
        AgentsNet(num_players=5, graph_file=path, edges=((0, 1), (1, 2), (2, 3), (3, 4)))
    with pytest.raises(InvalidOption, match="cannot read a graph from"):
        AgentsNet(graph_file=str(tmp_path / "none.json"))


@pytest.mark.parametrize("text", [b"[" * 100_000, b"9" * 5_000, b'{"graph": "\xff"}', b""])
def test_a_file_that_is_no_graph_at_all_is_named(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "graph.json"
    file.write_bytes(text)
    with pytest.raises(InvalidOption, match=r"graph\.json"):
        read_graph(str(file))
