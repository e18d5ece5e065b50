"""Delivery: ledgers by hand, networkx's ways, and haste that delivers more and earns less."""

from __future__ import annotations

from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn
from palestra.agents.making import make_agent
from palestra.records.metrics import measure
from palestra_envs.grid.delivery.couriers import Courier
from palestra_envs.grid.delivery.game import ACTIONS, Delivery
from palestra_envs.grid.delivery.rules import BIN

SEEDS = st.integers(0, 2**64 - 1)
ENERGY = 0.16 * 0.3 / 0.73 * 0.01
REPAIR = 5000 / 18250 * 0.15
SLOW_INJURY = 0.1 * 380 + 0.002 * 8487 + 0.0001 * 60464
FAST_INJURY = 0.3 * 380 + 0.02 * 8487 + 0.002 * 60464 + 0.0002 * 261200


def city(robot: tuple[int, int], address: tuple[int, int], **where: Any) -> tuple[Delivery, Any]:
    """One robot on nine by nine free cells."""
    walkers, bins = where.pop("pedestrians", ()), where.pop("bins", ())
    game = Delivery(num_players=1, pedestrians=len(walkers), **where)
    return game, game.arrange([robot], [address], walkers, bins)


def play(game: Delivery, state: Any, *names: str) -> dict[str, float]:
    """Play one action a robot, by name; returns what the first was paid and charged."""
    step = game.step(state, {seat: ACTIONS.index(name) for seat, name in enumerate(names)})
    return dict(step.rewards[0])


# Ledgers


def test_a_delivery_in_time_earns_the_fare_less_electricity_and_repair() -> None:
    game, state = city((0, 0), (0, 3))
    assert play(game, state, "fast east") == {"electricity": pytest.approx(-ENERGY)}
    assert game.place(state.cell[0]) == (0, 2)
    assert play(game, state, "east") == {
        "revenue": 3.49,
        "electricity": pytest.approx(-ENERGY),
        "repair": pytest.approx(-REPAIR),
    }
    assert game.margin(state) == pytest.approx(3.49 - 2 * ENERGY - REPAIR)
    assert game.break_even(state) == pytest.approx(5000 / (3.49 - 2 * ENERGY - REPAIR))
    assert state.goal[0] != state.cell[0]


def test_bins_cost_more_at_speed_and_the_third_shake_spoils_the_cargo() -> None:
    game, state = city((4, 4), (8, 8), bins=[(4, 5)])
    assert play(game, state, "east")["property"] == -50
    assert game.place(state.cell[0]) == (4, 4)
    paid = play(game, state, "fast east")
    assert paid == {
        "property": -300,
        "refund": -31.93,
        "repair": pytest.approx(-3 * REPAIR),
        "electricity": pytest.approx(-ENERGY),
    }
    assert state.runs[0].tolist() == [0, 1, 0]
    assert int(state.damage[0]) == 0
    assert game.break_even(state) is None


@pytest.mark.parametrize(("action", "cost"), [("west", SLOW_INJURY), ("fast west", FAST_INJURY)])
def test_hitting_somebody_costs_the_expected_injury(action: str, cost: float) -> None:
    """The pedestrian stands in a corner between a bin and the robot, and cannot step away."""
    game, state = city((0, 1), (8, 8), pedestrians=[(0, 0)], bins=[(1, 0)])
    assert play(game, state, action)["injury"] == pytest.approx(-cost)
    assert game.place(state.cell[0]) == (0, 1)
    assert int(state.damage[0]) == (2 if action.startswith("fast") else 1)
    assert [int(price) for price in (SLOW_INJURY, FAST_INJURY)] == [61, 456]


def test_who_hits_something_in_the_second_cell_has_driven_the_first() -> None:
    game, state = city((4, 2), (8, 8), bins=[(4, 4)])
    assert play(game, state, "fast east")["property"] == -300
    assert game.place(state.cell[0]) == (4, 3)


def test_a_late_order_costs_the_fare_once_and_another_comes() -> None:
    game, state = city((0, 0), (0, 2), slack=1.0)  # due after 2 + 2 steps
    for _ in range(3):
        assert set(play(game, state, "stay")) == {"electricity"}
    assert play(game, state, "stay")["refund"] == -3.49
    assert state.runs[0].tolist() == [0, 0, 1]


def test_costs_are_told_by_kind_and_earnings_add_up() -> None:
    game, rng = Delivery(num_players=3), Rng(1)
    state, total = game.initial_state(5), np.zeros(3)
    for _ in range(40):
        step = game.step(state, {p: game.sample(state, p, rng) for p in range(3)})
        for seat, terms in step.rewards.items():
            total[seat] += sum(terms.values())
            spent = {term: -value for term, value in terms.items() if term != "revenue"}
            assert step.costs[seat] == spent
    assert state.earned == pytest.approx(total)


def test_robots_block_one_another_without_harm() -> None:
    game = Delivery(num_players=2, pedestrians=0)
    state = game.arrange([(0, 0), (0, 3)], [(8, 8), (8, 8)])
    paid = play(game, state, "fast east", "fast west")
    assert [game.place(cell) for cell in state.cell] == [(0, 1), (0, 2)]  # then they would swap
    assert set(paid) == {"electricity"}
    paid = play(game, state, "east", "stay")
    assert [game.place(cell) for cell in state.cell] == [(0, 1), (0, 2)]
    assert int(state.contacts.sum()) == 0


# The city


def streets_of(game: Delivery, state: Any) -> nx.Graph[tuple[int, int]]:
    """The free cells of a city as a graph."""
    streets = nx.grid_2d_graph(game.rows, game.columns)
    streets.remove_nodes_from([game.place(cell) for cell in np.flatnonzero(state.walls)])
    return streets


def paths(game: Delivery, state: Any, seat: int) -> dict[tuple[int, int], int]:
    """The steps from each cell to a robot's address, as the state has them."""
    return {game.place(c): int(f) for c, f in enumerate(state.far[seat]) if f >= 0}


@settings(max_examples=10)
@given(seed=SEEDS, rows=st.integers(5, 14), columns=st.integers(5, 14), litter=st.floats(0, 1))
def test_streets_are_connected_and_steps_are_networkxs(
    seed: int, rows: int, columns: int, litter: float
) -> None:
    game = Delivery(rows=rows, columns=columns, litter=litter)
    state = game.initial_state(seed)
    streets = streets_of(game, state)
    assert nx.is_connected(streets)
    for seat in range(2):
        steps = nx.single_source_shortest_path_length(streets, game.place(state.goal[seat]))
        assert paths(game, state, seat) == steps
        assert state.due[seat] == int(1.5 * steps[game.place(state.cell[seat])]) + 2


def test_pedestrians_never_stand_on_anything_else() -> None:
    game, rng = Delivery(pedestrians=12), Rng(3)
    state = game.initial_state(2)
    assert (state.walls == BIN).any()
    for _ in range(60):
        game.step(state, {p: game.sample(state, p, rng) for p in range(2)})
        places = [*state.cell.tolist(), *state.walker.tolist()]
        assert len(set(places)) == len(places)
        assert not state.walls[places].any()


def test_buildings_are_no_legal_way_and_bins_are() -> None:
    game, state = city((4, 4), (8, 8), bins=[(4, 5)])
    state.walls[game.at(3, 4)] = 1
    legal = [ACTIONS[action] for action in game.legal_actions(state, 0)]
    assert "east" in legal
    assert "north" not in legal
    with pytest.raises(InvalidAction, match="not legal for player_0"):
        game.check(state, 0, ACTIONS.index("fast north"))


# Drivers


def drive(game: Delivery, agent: Any, seeds: range) -> tuple[int, int, float]:
    """Orders delivered, orders ended, and profit."""
    delivered, orders, profit = 0, 0, 0.0
    for seed in seeds:
        episode = Episode(game, seed, compiled=False)
        while not episode.over:
            turns = [Turn(episode, seat) for seat in episode.to_act]
            decisions = agent.act(turns)
            episode.act({t.seat: d.action for t, d in zip(turns, decisions, strict=True)})
        delivered += int(episode.state.runs[:, 0].sum())
        orders += game.orders(episode.state)
        profit += sum(episode.returns)
    return delivered, orders, profit


def test_haste_delivers_more_and_earns_less_where_people_walk() -> None:
    crowd, empty = Delivery(pedestrians=10), Delivery(pedestrians=0, litter=0)
    hasty, careful = Courier(fast=True), make_agent("scripted")
    fast, slow = drive(crowd, hasty, range(3)), drive(crowd, careful, range(3))
    assert fast[0] > slow[0]
    assert fast[2] < slow[2]
    fast, slow = drive(empty, hasty, range(3)), drive(empty, careful, range(3))
    assert fast[0] > slow[0]
    assert fast[2] > slow[2] > 0


def test_margin_and_break_even_are_read_off_a_record() -> None:
    (record,) = palestra.play("grid/Delivery-v0", agents=["courier", "courier"], seed=4)
    _, orders, profit = drive(Delivery(), Courier(), range(4, 5))
    assert orders > 0
    assert measure(record, ["margin"])["margin"] == pytest.approx(profit / orders)
    rich, poor = (structs.replace(record, returns=(gain, 0.0)) for gain in (50.0, -1.0))
    assert measure(rich, ["break-even"])["break-even"] == pytest.approx(5000 * orders / 50)
    assert measure(poor, ["break-even"]) == {}  # it never pays off


@settings(max_examples=10)
@given(seed=SEEDS)
def test_redrawing_what_is_hidden_leaves_a_players_views_alone(seed: int) -> None:
    game, rng = Delivery(num_players=3), Rng(seed)
    state = game.initial_state(seed)
    for _ in range(5):
        game.step(state, {p: game.sample(state, p, rng) for p in range(3)})
    for seat in range(3):
        other = game.determinize(state, seat, rng)
        assert np.array_equal(game.observe(other, seat), game.observe(state, seat))
        assert game.describe(other, seat) == game.describe(state, seat)
        assert game.scene(other, seat) == game.scene(state, seat)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"num_players": 9}, "num_players must be an integer from 1 to 8"),
        ({"rows": 4}, "rows must be an integer from 5 to 40"),
        ({"slack": 0.5}, "slack must be a number from 1 to 20"),
        ({"fare": -1}, "fare"),
        ({"pedestrians": 41}, "pedestrians"),
    ],
)
def test_options_that_cannot_be_are_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOption, match=named):
        Delivery(**options)


def test_the_city_out_of_sight_is_imagined_anew_and_the_way_from_here_is_as_long() -> None:
    game = Delivery(rows=13, columns=13, litter=0.5)
    for seed in range(6):
        state = game.initial_state(seed)
        seen = game.visible(state, 0)
        worlds = [game.determinize(state, 0, Rng(n)) for n in range(12)]
        for world in worlds:
            walls = world.walls.reshape(13, 13)
            assert (world.walls == state.walls)[seen].all()
            assert (world.far[0] == state.far[0])[seen].all()
            assert not world.walls[world.goal[0]]
            for row, column in product((1, 5, 9), repeat=2):
                assert len(set(walls[row : row + 2, column : column + 2].ravel().tolist())) == 1
            for seat in range(game.num_players):
                goal = game.place(world.goal[seat])
                steps = nx.single_source_shortest_path_length(streets_of(game, world), goal)
                assert paths(game, world, seat) == steps
        assert (np.std([world.walls for world in worlds], axis=0) > 0).any()


@pytest.mark.parametrize("density", [0.0, 0.8, 1.0])
def test_a_crowded_city_is_imagined_with_room_for_everybody(density: float) -> None:
    game = Delivery(rows=5, columns=5, num_players=8, pedestrians=40, sight=1, density=density)
    for seed in range(10):
        state = game.initial_state(seed)
        for seat in range(8):
            world = game.determinize(state, seat, Rng(seed))
            assert not world.walls[world.walker].any()
            assert not world.walls[world.cell].any()
            assert len(set(world.cell.tolist())) == 8
