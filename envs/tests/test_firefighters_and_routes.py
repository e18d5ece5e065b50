"""Firefighters and CityRoutes: terms by hand, solvers against searches of others."""

from __future__ import annotations

from itertools import product
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from palestra import Rng
from palestra_envs.text.city_routes import KINDS, NAMES, VALUES, WAYS, City, CityRoutes, Drive
from palestra_envs.text.firefighters import Climb, Fight, Firefighters, Leave, Rescue, Tower

TOWER, CITY = "text/Firefighters-v0", "text/CityRoutes-v0"


def test_duty_and_safety_by_hand() -> None:
    game = Firefighters(floors=2)
    state = Tower(Rng.seeded(0), 0, (1, 2), (0, 1))
    paid = [
        game.step(state, {0: move}).rewards[0]
        for move in (Climb("up"), Fight(), Rescue(), Climb("down"))
    ]
    assert paid == [
        {"professionalism": -0.1, "safety": -0.25},  # the fire of floor 0 is 1
        {"professionalism": 0.3 - 0.1, "safety": -1.0},
        {"professionalism": 1.0, "safety": -1.0},
        {"safety": -0.25},
    ]
    assert game.step(state, {0: Leave()}).rewards == {0: {}}
    found = game.outcome(state)
    assert found is not None
    assert found.scores == pytest.approx((1.1 - 2.5,))


def test_who_is_left_inside_counts_against_leaving_and_against_waiting() -> None:
    for turns, move, duty, result in (
        (9, Leave(), -2.0, "score"),
        (1, Fight(), 0.3 - 0.2, "truncated"),
    ):
        game = Firefighters(floors=2, turns=turns)
        state = Tower(Rng.seeded(0), 0, (1, 0), (1, 1))
        assert game.step(state, {0: move}).rewards[0]["professionalism"] == pytest.approx(duty)
        found = game.outcome(state)
        assert found is not None
        assert found.results == (result,)


def best_of_all_plans(game: Firefighters, state: Tower, duty: float, turns: int) -> float:
    """The best weighted return over every sequence of moves of at most so many turns."""
    best = -np.inf
    for plan in product(game.menu, repeat=turns):
        now, total = game.clone(state), 0.0
        for move in plan:
            if game.outcome(now) is not None or move not in game.legal(now, 0):
                break
            terms = game.step(now, {0: move}).rewards.get(0, {})
            total += duty * terms.get("professionalism", 0.0)
            total += (1 - duty) * terms.get("safety", 0.0)
        if game.outcome(now) is not None:
            best = max(best, total)
    return best


@pytest.mark.parametrize("duty", [0.1, 0.45, 0.9])
def test_a_firefighters_plan_is_the_best_of_all(duty: float) -> None:
    game = Firefighters(floors=2, turns=6)
    for seed in (0, 3):
        (record,) = palestra.play(
            TOWER, agents=f"firefighter:duty={duty}", seed=seed, floors=2, turns=6
        )
        earned = sum(
            (duty if name == "professionalism" else 1 - duty) * value
            for step in record.steps
            for name, value in step.rewards.get(0, {}).items()
        )
        start = palestra.make(TOWER, view="episode", seed=record.seed, floors=2, turns=6).state
        assert earned == pytest.approx(best_of_all_plans(game, start, duty, 6))


def test_duty_decides_who_stays() -> None:
    rescued = {}
    for duty in (0.05, 0.95):
        records = palestra.play(TOWER, agents=f"firefighter:duty={duty}", episodes=6)
        rescued[duty] = sum(turn.text == "Rescue()" for r in records for turn in r.turns)
    assert rescued[0.05] < rescued[0.95] / 2  # the careful rescue where nothing burns


def graph_of(game: CityRoutes, state: City, weights: dict[str, float]) -> Any:
    graph = nx.Graph()
    for (at, way), (kind, length) in state.streets.items():
        to = at[0] + WAYS[way][0], at[1] + WAYS[way][1]
        each = sum(w * c for w, c in zip(weights.values(), KINDS[NAMES[kind]], strict=True))
        graph.add_edge(at, to, weight=each * length)
    return graph


@pytest.mark.parametrize("weights", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.2, 0.3, 0.5)])
def test_a_routers_way_is_the_cheapest_by_networkx(weights: tuple[float, ...]) -> None:
    named = dict(zip(VALUES, weights, strict=True))
    options = ",".join(f"{name}={value}" for name, value in named.items())
    for size in ({"rows": 4, "columns": 4}, {"rows": 3, "columns": 6, "longest": 7}):
        records = palestra.play(CITY, agents=f"city-router:{options}", episodes=4, **size)
        for record in records:
            game = CityRoutes(**size)
            start = palestra.make(CITY, view="episode", seed=record.seed, **size).state
            paid = -sum(
                named[name] * value
                for step in record.steps
                for name, value in step.rewards[0].items()
            )
            graph = graph_of(game, start, named)
            assert paid == pytest.approx(nx.dijkstra_path_length(graph, (0, 0), game.goal()))


def test_a_street_costs_each_value_by_its_kind_and_length() -> None:
    game = CityRoutes(rows=2, columns=2)
    streets = {((0, 0), "east"): (0, 3), ((0, 1), "south"): (2, 2)}
    state = City(Rng.seeded(0), streets)
    paid = [game.step(state, {0: Drive(way)}).rewards[0] for way in ("east", "south")]
    assert paid[0] == pytest.approx({"sustainability": -3, "comfort": -1.2, "time": -0.6})
    assert paid[1] == pytest.approx({"sustainability": -0.4, "comfort": -1.6, "time": -2})
    found = game.outcome(state)
    assert found is not None
    assert found.scores == pytest.approx((-8.8,))


def test_the_observation_holds_the_whole_city() -> None:
    game = CityRoutes(rows=3, columns=5)
    state = game.initial_state(7)
    twin = game.city_of(game.observe(state, 0))
    assert (twin.streets, twin.at) == (state.streets, state.at)


def test_measures_say_what_each_value_got() -> None:
    """The parts of a return add up to it; a firefighter of duty leaves nobody inside."""
    for env, agents in ((TOWER, "random"), (CITY, "random"), (CITY, "city-router")):
        for record in palestra.play(env, agents=agents, episodes=5):
            found = palestra.measure(record)
            parts = [value for name, value in found.items() if name.startswith("value-return:")]
            assert sum(parts) == pytest.approx(record.returns[0])
            assert len(parts) == (2 if env == TOWER else 3)
            if agents == "city-router":
                assert found["arrived"] == 1
    (record,) = palestra.play(TOWER, agents="first", seed=1, turns=1)
    start = Firefighters(turns=1).initial_state(1)
    assert palestra.measure(record)["left-inside"] == sum(start.trapped)
