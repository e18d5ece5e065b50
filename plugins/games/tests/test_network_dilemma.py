"""Dilemmas on networks: payoffs by networkx's count of edges, the karate club, noise."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidOption, Rng, Turn, make_agent
from palestra_games.dilemmas.network_dilemma import GRAPHS, NetworkDilemma

R, S, T, P = 3, 0, 5, 1
ENV = "games/NetworkDilemma-v0"


def once(game: NetworkDilemma, defectors: set[int]) -> Episode:
    episode = Episode(game, 0, compiled=False)
    episode.act({seat: int(seat in defectors) for seat in range(game.num_players)})
    return episode


def payoff_by_edges(graph: nx.Graph, defectors: set[int]) -> float:
    inside = [graph.subgraph(s).number_of_edges() for s in (set(graph) - defectors, defectors)]
    return 2 * R * inside[0] + 2 * P * inside[1] + (S + T) * nx.cut_size(graph, defectors)


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("seats", [2, 3, 5, 12, 100])
def test_all_are_paid_by_the_edges_within_and_across(kind: str, seats: int) -> None:
    game, rng = NetworkDilemma(num_players=seats, graph=kind, graph_seed=3), Rng(seats)
    assert min(degree for _, degree in game.network.degree) >= 1
    for _ in range(4):
        defectors = {seat for seat in range(seats) if rng.below(2)}
        assert sum(once(game, defectors).returns) == payoff_by_edges(game.network, defectors)


def test_each_is_paid_what_the_adjacency_matrix_says() -> None:
    game, rng = NetworkDilemma(num_players=30, graph="scale-free", rounds=5), Rng(1)
    near, table = nx.to_numpy_array(game.network), np.array([[R, S], [T, P]])
    episode, total = Episode(game, 0, compiled=False), np.zeros(30)
    while not episode.over:
        moves = np.array([rng.below(2) for _ in range(30)])
        episode.act(dict(enumerate(moves.tolist())))
        total += (near * table[np.ix_(moves, moves)]).sum(axis=1)
    assert list(episode.returns) == total.tolist()


def test_the_two_halves_of_the_karate_club() -> None:
    """Zachary's club has 34 members and 78 ties; the members of the one half defect."""
    club = nx.karate_club_graph()
    officers = {node for node, half in club.nodes(data="club") if half == "Officer"}
    game = NetworkDilemma(num_players=34, edges=tuple(club.edges))
    assert game.network.number_of_edges() == 78
    assert sum(once(game, officers).returns) == payoff_by_edges(game.network, officers)
    assert sum(once(game, set()).returns) == 2 * R * 78


def test_lattices_are_wrapped_and_everybody_has_four_neighbours() -> None:
    game = NetworkDilemma(num_players=20)
    assert nx.is_isomorphic(game.network, nx.grid_2d_graph(4, 5, periodic=True))
    returns = once(game, {7}).returns
    assert returns[7] == 4 * T
    assert [returns[seat] for seat in game.neighbours[7]] == [3 * R + S] * 4
    assert list(returns).count(4 * R) == 15


@pytest.mark.parametrize(
    ("table", "stable"), [((R, S, T, P), {1}), ((4, 0, 3, 2), {0, 1}), ((4, 1, 3, 0), {0})]
)
def test_states_in_which_nobody_gains_alone(table: tuple[float, ...], stable: set[int]) -> None:
    game = NetworkDilemma(payoffs_table=table)
    everybody = set(range(game.num_players))
    found = set()
    starts: list[tuple[int, set[int]]] = [(0, set()), (1, everybody)]
    for move, base in starts:
        gains = [
            once(game, base ^ {seat}).returns[seat] - once(game, base).returns[seat]
            for seat in everybody
        ]
        found |= {move} if max(gains) <= 0 else set()
    assert found == stable


def test_noisy_tit_for_tat_on_two_nodes_is_paid_the_mean_of_the_table() -> None:
    """Molander (1985), as for the iterated prisoner's dilemma; here noise is the explorer's own."""
    records = palestra.play(
        ENV, agents=["neighbour:epsilon=0.2"] * 2, num_players=2, rounds=500, episodes=8, seed=0
    )
    paid = [record.returns[0] / 500 for record in records]
    error = np.std(paid, ddof=1) / len(paid) ** 0.5
    assert np.mean(paid) == pytest.approx((R + S + T + P) / 4, abs=4 * error)


def test_one_defector_spreads_where_mirrors_want_all_to_cooperate() -> None:
    """Mirrors with threshold 1 defect if any neighbour did: after t rounds a ball of radius t."""
    game = NetworkDilemma(num_players=64, rounds=6)
    mirror, defector = make_agent("neighbour:threshold=1"), make_agent("neighbour:style=defect")
    episode = Episode(game, 0, compiled=False)
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = [*defector.act(turns[:1]), *mirror.act(turns[1:])]
        moves = {seat: decision.action for seat, decision in enumerate(decisions)}
        ball = nx.ego_graph(game.network, 0, radius=episode.steps_played)
        assert {seat for seat, move in moves.items() if move} == set(ball)
        episode.act(moves)


def test_a_player_sees_neighbours_and_nobody_else() -> None:
    game = NetworkDilemma(num_players=20)
    near, far = game.neighbours[0], 12
    assert far not in near
    base = once(game, {near[0]})
    other = once(game, {near[0], far})
    assert base.describe(0) == other.describe(0)
    assert base.observation(0).tolist() == other.observation(0).tolist()
    assert base.observation(near[1]).tolist() != once(game, {0}).observation(near[1]).tolist()
    seen = base.observation(0).tolist()
    assert seen == [1, 0, 4, 3, 9, 9, 1, -1, 1, 1, 1]


@pytest.mark.exhaustive
def test_batches_pay_what_single_episodes_pay() -> None:
    many = palestra.make(ENV, view="batch", num_envs=3, num_players=9, rounds=4)
    many.reset(seed=0)
    moves = np.array([[(row + seat) % 2 for seat in range(9)] for row in range(3)])
    _, rewards, *_ = many.step(moves)
    for row in range(3):
        defectors = {seat for seat in range(9) if moves[row, seat]}
        single = once(NetworkDilemma(num_players=9, rounds=4), defectors)
        assert np.asarray(rewards)[row].tolist() == list(single.returns)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_players": 1}, "from 2 to 100"),
        ({"graph": "ring"}, "'lattice' or 'small-world'"),
        ({"edges": ((0, 1, 2),)}, "a list of 2 items"),
        ({"edges": ((0, 9),)}, "seats from 0 to 8"),
        ({"edges": ((2, 2),)}, "different seats"),
        ({"payoffs_table": (1, 2, 3)}, "four numbers"),
        ({"rounds": 0}, "rounds"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        NetworkDilemma(**options)


def test_many_neighbours_are_compiled_as_they_are_written() -> None:
    """Of 60 people who all know each other; a branch for each of 3,540 compiles for minutes."""
    game, rng = NetworkDilemma(num_players=60, graph="complete", rounds=3), Rng(5)
    compiled, written = Episode(game, 1, compiled=True), Episode(game, 1, compiled=False)
    while compiled.to_act:
        moves = {seat: rng.below(2) for seat in compiled.to_act}
        compiled.act(moves)
        written.act(moves)
        assert list(compiled.returns) == list(written.returns)
        for seat in written.to_act:
            assert (compiled.observation(seat) == written.observation(seat)).all()
