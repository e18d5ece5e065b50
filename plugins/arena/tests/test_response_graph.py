from __future__ import annotations

import numpy as np
import pytest
from palestra import InvalidOption
from palestra_arena.ratings import ResponseGraph, alpha_rank_mass


def play(graph: ResponseGraph, shares: np.ndarray, rng: np.random.Generator) -> int:
    """Play what the graph asks for until it stops; returns how many trials that took."""
    while graph.unsettled:
        i, j = graph.unsettled[0]
        graph.note(i, j, float(rng.random() < shares[i, j]))
    return sum(graph.trials.values())


def shares_of(leads: dict[tuple[int, int], float], agents: int) -> np.ndarray:
    shares = np.full((agents, agents), 0.5)
    for (i, j), lead in leads.items():
        shares[i, j], shares[j, i] = 0.5 + lead, 0.5 - lead
    return shares


def test_noisy_rock_paper_scissors_is_one_third_each() -> None:
    graph = ResponseGraph(3)
    play(graph, shares_of({(0, 1): -0.3, (1, 2): -0.3, (0, 2): 0.3}, 3), np.random.default_rng(0))
    value, low, high = graph.mass()
    np.testing.assert_allclose([value, low, high], 1 / 3, atol=1e-9)


def test_settled_pairs_point_the_right_way_as_often_as_promised() -> None:
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        leads = {(0, 1): 0.2, (0, 2): -0.15, (1, 2): 0.25}
        graph = ResponseGraph(3, confidence=0.9)
        play(graph, shares_of(leads, 3), rng)
        wrong += any(np.sign(leads[pair]) != graph.edge(pair) for pair in graph.pairs)
    assert wrong / 200 <= 0.1


def test_playing_what_is_unsettled_takes_fewer_games_than_playing_all_alike() -> None:
    """At equal error: both stop when every pair is settled."""
    leads = {(0, 1): 0.4, (0, 2): 0.4, (0, 3): 0.4, (1, 2): 0.4, (1, 3): 0.4, (2, 3): 0.08}
    adaptive, uniform = ResponseGraph(4), ResponseGraph(4)
    shares = shares_of(leads, 4)
    spent = play(adaptive, shares, np.random.default_rng(2))
    rng = np.random.default_rng(2)
    while uniform.unsettled:
        for i, j in uniform.pairs:
            uniform.note(i, j, float(rng.random() < shares[i, j]))
    assert spent < sum(uniform.trials.values()) / 3
    assert [adaptive.edge(p) for p in adaptive.pairs] == [uniform.edge(p) for p in uniform.pairs]


def test_open_pairs_widen_the_range_of_a_mass() -> None:
    graph = ResponseGraph(3)
    value, low, high = graph.mass()
    assert low.min() == pytest.approx(0, abs=1e-3)
    assert high.max() == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(value, alpha_rank_mass(np.zeros((3, 3))))


def test_equals_settle_as_a_tie_where_that_is_allowed() -> None:
    graph = ResponseGraph(2, indifference=0.2)
    play(graph, shares_of({}, 2), np.random.default_rng(3))
    assert graph.edge((0, 1)) == 0


def test_shares_outside_0_to_1_are_refused() -> None:
    with pytest.raises(InvalidOption, match="from 0 to 1"):
        ResponseGraph(2).note(0, 1, 2.0)
