"""AgentsNet: scores against networkx, graphs against scipy and networkx, the oracle, privacy."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent
from palestra_games.social.agents_net import graphs as graphs
from palestra_games.social.agents_net.game import GLOBAL_TASKS, AgentsNet, Answer, Send, Tell
from palestra_games.social.agents_net.tasks import NAMES, TASKS, score
from scipy.spatial import Delaunay


def as_networkx(neighbours: graphs.Neighbours) -> nx.Graph:
    graph = nx.Graph()
    graph.add_nodes_from(range(len(neighbours)))
    graph.add_edges_from((a, b) for a, others in enumerate(neighbours) for b in others)
    return graph


def solve(game: AgentsNet, seed: int) -> Episode:
    episode, agent = Episode(game, seed), make_agent("agents-net-oracle")
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = agent.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return episode


def valid(task: str, graph: nx.Graph, names: tuple[str, ...], given: tuple[str, ...]) -> bool:
    """Whether the answers solve a task, said by networkx where it can."""
    yes = {seat for seat, answer in enumerate(given) if answer == "Yes"}
    if task == "colouring":
        groups = {int(answer.removeprefix("Group ")) for answer in given}
        assert max(groups) <= max(d for _, d in graph.degree) + 1
        return all(given[a] != given[b] for a, b in graph.edges)
    if task == "vertex-cover":  # the rest is an independent set that cannot grow
        rest = set(graph) - yes
        alone = graph.subgraph(rest).number_of_edges() == 0
        return alone and nx.is_dominating_set(graph, rest)
    if task == "matching":
        seat = {name: number for number, name in enumerate(names)}
        pairs = {frozenset((a, seat[n])) for a, n in enumerate(given) if n != "None"}
        matched = {frozenset((a, b)) for a, b in map(tuple, pairs)}
        both = all(given[b] == names[a] and given[a] == names[b] for a, b in map(tuple, matched))
        return both and nx.is_maximal_matching(graph, {tuple(pair) for pair in matched})
    if task == "leader-election":
        return len(yes) == 1
    return len(set(given)) == 1


# Scores


def reference_score(
    task: str, graph: nx.Graph, names: tuple[str, ...], given: tuple[str, ...]
) -> float:
    """The paper's definitions, over networkx."""
    edges = list(graph.edges)

    def covered(chosen: set[int]) -> float:
        return sum(a in chosen or b in chosen for a, b in edges) / len(edges)

    if task == "colouring":
        return 1 - sum(given[a] == given[b] for a, b in edges) / len(edges)
    if task == "vertex-cover":
        chosen = {node for node in graph if given[node] == "Yes"}
        if not chosen:
            return 0.0
        needed = [node for node in chosen if covered(chosen - {node}) < 1]
        return covered(chosen) * len(needed) / len(chosen)
    if task == "matching":
        odd = 0
        for node in graph:
            near = {names[v]: v for v in graph[node]}
            if given[node] == "None":
                odd += any(given[v] == "None" for v in graph[node])
            else:
                odd += given[node] not in near or given[near[given[node]]] != names[node]
        return (len(graph) - odd) / len(graph)
    if task == "leader-election":
        return float(sum(answer == "Yes" for answer in given) == 1)
    return float(given.count("0") in (0, len(given)))


@pytest.mark.parametrize("task", TASKS)
def test_scores_of_random_answers_are_those_of_the_paper(task: str) -> None:
    different = set()
    for seed in range(40):
        game = AgentsNet(task=task, graph=graphs.KINDS[seed % 3], num_players=4 + seed % 5)
        state, rng = game.initial_state(seed), Rng(seed)
        net = state.net
        state.round = net.rounds
        given = tuple(game.sample(state, p, rng).value for p in range(game.num_players))  # type: ignore[attr-defined]
        expected = reference_score(task, as_networkx(net.neighbours), net.names, given)
        assert score(task, net.neighbours, net.names, given) == pytest.approx(expected)
        different.add(expected)
    assert len(different) > 1 or task in GLOBAL_TASKS


@pytest.mark.parametrize(
    ("task", "given", "expected"),
    [
        ("colouring", ("Group 1", "Group 2", "Group 1", "Group 1"), 2 / 3),
        ("vertex-cover", ("No", "Yes", "Yes", "No"), 1),
        ("vertex-cover", ("Yes", "Yes", "Yes", "No"), 1 / 3),
        ("vertex-cover", ("Yes", "No", "No", "No"), 1 / 3),
        ("vertex-cover", ("No", "No", "No", "No"), 0),
        ("matching", ("None", "2", "1", "None"), 1),
        ("matching", ("1", "2", "1", "None"), 3 / 4),
        ("matching", ("None", "None", "3", "2"), 1 / 2),
        ("leader-election", ("No", "Yes", "Yes", "No"), 0),
        ("leader-election", ("No", "No", "Yes", "No"), 1),
        ("consensus", ("1", "1", "1", "0"), 0),
        ("consensus", ("0", "0", "0", "0"), 1),
    ],
)
def test_scores_on_a_path_of_four(task: str, given: tuple[str, ...], expected: float) -> None:
    path = graphs.from_edges(4, [(0, 1), (1, 2), (2, 3)])
    assert score(task, path, ("0", "1", "2", "3"), given) == pytest.approx(expected)


# The oracle


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("kind", "agents"), [("small-world", 8), ("scale-free", 16)])
def test_the_oracle_scores_1(task: str, kind: str, agents: int) -> None:
    for seed in range(4):
        episode = solve(AgentsNet(task=task, graph=kind, num_players=agents), seed)
        net = episode.state.net
        assert list(episode.returns) == [1.0] * agents
        assert valid(task, as_networkx(net.neighbours), net.names, episode.state.answers)


@pytest.mark.parametrize("task", TASKS)
def test_the_oracle_scores_1_with_a_hundred_agents(task: str) -> None:
    episode = solve(AgentsNet(task=task, graph="delaunay", num_players=100), 1)
    net = episode.state.net
    assert list(episode.returns) == [1.0] * 100
    assert valid(task, as_networkx(net.neighbours), net.names, episode.state.answers)


@pytest.mark.parametrize("task", TASKS)
def test_any_networkx_graph_can_be_played(task: str) -> None:
    for graph in (nx.petersen_graph(), nx.path_graph(9), nx.les_miserables_graph()):
        episode = solve(AgentsNet.on(graph, task=task, rounds=nx.diameter(graph)), 0)
        seats = nx.convert_node_labels_to_integers(graph)
        assert nx.utils.graphs_equal(
            as_networkx(episode.state.net.neighbours), nx.Graph([(a, b) for a, b in seats.edges])
        )
        assert episode.returns[0] == 1.0


# Graphs


def test_delaunay_graphs_are_scipys() -> None:
    for seed in range(12):
        places = graphs.points(4 + 8 * seed, Rng(seed))
        theirs = nx.Graph()
        for triangle in Delaunay(np.array(places, float)).simplices.tolist():
            nx.add_cycle(theirs, triangle)
        ours = as_networkx(graphs.delaunay(places))
        assert {frozenset(e) for e in ours.edges} == {frozenset(e) for e in theirs.edges}


@pytest.mark.parametrize("agents", [4, 5, 6, 16, 100])
def test_small_worlds_and_scale_free_graphs_have_their_links(agents: int) -> None:
    for seed in range(3):
        small = as_networkx(graphs.small_world(agents, Rng(seed)))
        assert nx.is_connected(small)
        assert small.number_of_edges() == min(2 * agents, agents * (agents - 1) // 2)
        free = as_networkx(graphs.scale_free(agents, Rng(seed)))
        assert nx.is_connected(free)
        assert free.number_of_edges() == 2 + 2 * (agents - 3)
        assert min(degree for node, degree in free.degree if node > 2) >= 2


def test_links_are_rewired_as_often_as_networkx_does() -> None:
    """Lattice links that are left, over many graphs: the means differ by little."""

    def left(graph: nx.Graph) -> int:
        return sum(min((a - b) % 40, (b - a) % 40) <= 2 for a, b in graph.edges)

    ours = [left(as_networkx(graphs.small_world(40, Rng(n)))) for n in range(60)]
    theirs = [left(nx.connected_watts_strogatz_graph(40, 4, 0.4, seed=n)) for n in range(60)]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=3)


def test_hubs_grow_as_large_as_networkx_makes_them() -> None:
    def largest(graph: nx.Graph) -> int:
        return max(degree for _, degree in graph.degree)

    ours = [largest(as_networkx(graphs.scale_free(60, Rng(n)))) for n in range(60)]
    theirs = [
        largest(nx.barabasi_albert_graph(60, 2, seed=n, initial_graph=nx.star_graph(2)))
        for n in range(60)
    ]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=2.5)


def test_diameter_is_networkxs() -> None:
    for kind in graphs.KINDS:
        graph = graphs.draw_graph(kind, 30, Rng(3))
        assert graphs.diameter(graph) == nx.diameter(as_networkx(graph))


@pytest.mark.parametrize(
    ("task", "agents", "fixed"),
    [("colouring", 16, True), ("matching", 17, False), ("consensus", 8, False)],
)
def test_rounds_follow_the_paper(task: str, agents: int, fixed: bool) -> None:
    net = AgentsNet(task=task, num_players=agents).initial_state(2).net
    across = nx.diameter(as_networkx(net.neighbours))
    assert net.rounds == (4 if fixed else 2 * across + 1)


# Messages


def path(**options: Any) -> Episode:
    return Episode(AgentsNet.on(nx.path_graph(4), task="consensus", **options), 0)


def test_messages_reach_neighbours_in_the_next_round_and_nobody_else() -> None:
    episode = path(rounds=2)
    names = episode.state.net.names
    first = {0: Tell(""), 1: Tell("hello"), 2: Tell(""), 3: Send({names[2]: "psst"})}
    episode.act(first)
    assert episode.state.inbox == [{1: "hello"}, {}, {1: "hello", 3: "psst"}, {}]
    assert f'{names[1]}: "hello"' in episode.describe(0)
    assert "hello" not in episode.prompt(3)
    assert "psst" not in episode.prompt(1)
    episode.act(dict.fromkeys(range(4), Tell("")))
    assert episode.state.inbox == [{}] * 4
    with pytest.raises(InvalidAction):
        episode.act(dict.fromkeys(range(4), Tell("more")))


def test_nobody_writes_to_strangers() -> None:
    episode = path()
    names = episode.state.net.names
    with pytest.raises(InvalidAction, match="not to"):
        episode.parse(0, f"Send(messages={{'{names[2]}': 'hi'}})")
    assert episode.parse(0, f"Send(messages={{'{names[1]}': 'hi'}})") == Send({names[1]: "hi"})


def test_the_array_view_numbers_names_and_menu_lines() -> None:
    episode = path(rounds=2)
    game, names = episode.game, episode.state.net.names
    said = {0: Tell(NAMES[3]), 1: Tell(""), 2: Tell("my own words"), 3: Tell("")}
    episode.act(said)
    seen = episode.observation(1).tolist()
    assert seen[:4] == [1, 2, 3, NAMES.index(names[1]) + 1]
    assert seen[4:6] == [NAMES.index(names[0]) + 1, 2 + game.index_of(Tell(NAMES[3]))]
    assert seen[8:10] == [NAMES.index(names[2]) + 1, 1]
    assert seen[10:] == [0, 0]


def test_partners_are_named_among_neighbours_only() -> None:
    episode = Episode(AgentsNet.on(nx.path_graph(4), task="matching", rounds=1), 0)
    names = episode.state.net.names
    episode.act(dict.fromkeys(range(4), Tell("")))
    assert episode.legal_actions(0) == [Answer(names[1]), Answer("None")]
    with pytest.raises(InvalidAction):
        episode.parse(0, f"Answer(value='{names[3]}')")


RING = tuple((seat, (seat + 1) % 16) for seat in range(16))


@pytest.mark.parametrize(("options", "same_shape"), [({}, False), ({"edges": RING}, True)])
def test_redrawing_keeps_what_an_agent_knows_and_a_given_graph(
    options: dict[str, Any], same_shape: bool
) -> None:
    game = AgentsNet(num_players=16, **options)
    state = game.initial_state(4)
    twin = game.determinize(state, 3, Rng(1))
    assert twin.net.known[3] == state.net.known[3]
    assert (twin.net.rounds, twin.net.groups) == (state.net.rounds, state.net.groups)
    assert set(twin.net.names) != set(state.net.names)
    assert twin.net.neighbours != state.net.neighbours
    shapes = (as_networkx(each.net.neighbours) for each in (twin, state))
    assert nx.is_isomorphic(*shapes) == same_shape


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"task": "sorting"}, "task must be 'colouring' or 'vertex-cover'"),
        ({"graph": "star"}, "graph must be 'small-world' or 'scale-free'"),
        ({"num_players": 3}, "4 to 100"),
        ({"edges": ((0, 0),)}, "two different"),
        ({"edges": ((0, 9),)}, "numbered from 0"),
        ({"edges": ((0, 1),)}, "connect all"),
        ({"rounds": -1}, "rounds must be"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        AgentsNet(**options)
