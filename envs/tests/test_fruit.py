"""Fruit collection: the travelling salesman's optimum, and when advisors stall."""

from __future__ import annotations

from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidOption, Rng, Turn
from palestra.agents.making import make_agent
from palestra.grids.compass import MOVES
from palestra_envs.grid.fruit.game import Fruit
from palestra_envs.grid.fruit.pickers import FruitAdvisors, FruitPicker, shortest_tour

SEEDS = st.integers(0, 2**64 - 1)
PLACES = st.tuples(st.integers(0, 4), st.integers(0, 4))


def fewest_steps(start: tuple[int, int], fruits: list[tuple[int, int]]) -> int:
    """All orders, one by one."""
    return min(
        sum(abs(r - row) + abs(c - column) for (r, c), (row, column) in pairwise([start, *order]))
        for order in permutations(fruits)
    )


def play_out(episode: Episode, agent: Any) -> Episode:
    while not episode.over:
        turns = [Turn(episode, seat) for seat in episode.to_act]
        decisions = agent.act(turns)
        episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
    return episode


@settings(max_examples=40)
@given(places=st.lists(PLACES, min_size=2, max_size=7, unique=True))
def test_the_shortest_tour_is_the_best_of_all_orders(places: list[tuple[int, int]]) -> None:
    start, *fruits = places
    steps, order = shortest_tour(start, fruits)
    assert steps == fewest_steps(start, fruits)
    assert sorted(order) == list(range(len(fruits)))


@pytest.mark.parametrize("seed", range(12))
def test_the_picker_eats_all_in_the_fewest_steps_and_nobody_is_quicker(seed: int) -> None:
    game, lengths = Fruit(), []
    for agent in ("fruit-picker", "scripted", "fruit-advisors"):
        episode = Episode(game, seed, compiled=False)
        fruits = [game.place(cell) for cell in episode.state.fruit]
        fewest = fewest_steps(game.place(episode.state.cell[0]), fruits)
        play_out(episode, make_agent(agent))
        assert episode.outcome is not None
        lengths.append((episode.steps_played, episode.outcome.reason, sum(episode.returns)))
        assert episode.steps_played >= fewest
    assert lengths[0] == (fewest, "all fruit was eaten", 5.0)


def test_each_fruit_pays_in_its_own_term_and_time_costs() -> None:
    game = Fruit(num_fruits=2, step_cost=0.25)
    state = game.arrange([(0, 0)], [(0, 1), (1, 1)])
    assert game.reward_terms == ("fruit_0", "fruit_1", "time")
    assert game.step(state, {0: MOVES.index("east")}).rewards == {
        0: {"fruit_0": 1.0, "time": -0.25}
    }
    assert game.step(state, {0: MOVES.index("south")}).rewards == {
        0: {"fruit_1": 1.0, "time": -0.25}
    }
    outcome = game.outcome(state)
    assert outcome is not None
    assert (outcome.results, outcome.scores) == (("score",), (1.5,))


@pytest.mark.parametrize(
    ("gamma", "stalls"), [(0.95, True), (0.34, True), (0.33, False), (0.1, False)]
)
def test_four_advisors_pulling_four_ways_stall_above_a_third(gamma: float, stalls: bool) -> None:
    """Fruit two cells off on every side: moving is worth g + 3 g^3, staying 4 g^2.

    The first is larger where (1 - g) (1 - 3 g) > 0: below 1 / (4 - 1), the paper's bound.
    """
    game = Fruit(num_fruits=4)
    episode = Episode(game, 0, compiled=False)
    episode.load(game.arrange([(2, 2)], [(0, 2), (4, 2), (2, 0), (2, 4)]))
    (decision,) = FruitAdvisors(gamma=gamma).act([Turn(episode, 0)])
    assert (MOVES[decision.action] == "stay") == stalls


def test_two_players_who_want_one_fruit_block_each_other() -> None:
    game = Fruit(num_players=2, num_fruits=1)
    state = game.arrange([(0, 0), (0, 2)], [(0, 1)])
    step = game.step(state, {0: MOVES.index("east"), 1: MOVES.index("west")})
    assert not step.rewards
    assert game.step(state, {0: MOVES.index("east"), 1: MOVES.index("stay")}).rewards == {
        0: {"fruit_0": 1.0}
    }


def test_who_sees_little_finds_all_fruit_by_walking_the_rows() -> None:
    episode = play_out(Episode(Fruit(sight=1, max_steps=120), 2, compiled=False), FruitPicker())
    assert episode.outcome is not None
    assert episode.outcome.reason == "all fruit was eaten"


@settings(max_examples=15)
@given(seed=SEEDS)
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(seed: int) -> None:
    game, rng = Fruit(num_players=3, sight=1), Rng(seed)
    state = game.initial_state(seed)
    assert not game.perfect_information
    for seat in range(3):
        other = game.determinize(state, seat, rng)
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        assert game.scene(other, seat) == game.scene(state, seat)
        places = [*other.cell.tolist(), *other.fruit.tolist()]
        assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_players": 5}, "num_players must be an integer from 1 to 4"),
        ({"num_fruits": 11}, "num_fruits"),
        ({"rows": 2, "columns": 2}, "no room for 1 players and 5 fruits"),
        ({"step_cost": -1}, "step_cost must be a number from 0"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        Fruit(**options)


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_advisors_refuse_discounts_that_cannot_be(gamma: float) -> None:
    with pytest.raises(InvalidOption, match="gamma"):
        make_agent(f"fruit-advisors:gamma={gamma}")
