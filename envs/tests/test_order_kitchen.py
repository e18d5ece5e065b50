"""OrderKitchen: optima against a search of all allocations, and who allocates best."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from typing import Any

import networkx as nx
import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, measure
from palestra_envs.text.order_kitchen.dishes import (
    Order,
    best_allocation,
    consistent_paces,
    draw_order,
)
from palestra_envs.text.order_kitchen.dispatchers import expected_gains, greedy_allocation
from palestra_envs.text.order_kitchen.game import Give, OrderKitchen, Rest, Start, Take

KITCHEN = "text/OrderKitchen-v0"


def most(gains: np.ndarray) -> float:
    """The most that an allocation earns, by trying all; orders beyond the last are rests."""
    cooks, orders = gains.shape
    padded = np.hstack([gains, np.zeros((cooks, cooks))])
    return float(
        max(
            sum(padded[cook, order] for cook, order in enumerate(chosen))
            for chosen in permutations(range(orders + cooks), cooks)
        )
    )


def value(gains: np.ndarray, plan: list[int | None]) -> float:
    return float(sum(gains[cook, order] for cook, order in enumerate(plan) if order is not None))


@pytest.mark.parametrize(("cooks", "orders"), [(1, 4), (2, 5), (3, 3), (4, 2), (4, 4), (5, 1)])
@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_that_of_all_allocations_and_of_networkx(
    cooks: int, orders: int, seed: int
) -> None:
    rng = Rng.seeded(seed)
    paces = [tuple(rng.between(1, 5) for _ in range(3)) for _ in range(cooks)]
    menu = [draw_order(rng) for _ in range(orders)]
    gains = np.array([[order.gain(pace) for order in menu] for pace in paces], float)
    plan = best_allocation(gains)
    taken = [order for order in plan if order is not None]
    assert len(taken) == len(set(taken))
    assert value(gains, plan) == most(gains)
    graph = nx.Graph()
    for (cook, order), gain in np.ndenumerate(gains):
        if gain > 0:
            graph.add_edge(("cook", cook), ("order", order), weight=int(gain))
    pairs = nx.max_weight_matching(graph)
    assert sum(graph.edges[pair]["weight"] for pair in pairs) == value(gains, plan)
    assert value(gains, greedy_allocation(gains)) <= most(gains)


def test_the_most_gainful_pairs_are_taken_first_however_small_the_gains() -> None:
    """By sorting all pairs, where no two gains are alike."""
    rng = np.random.default_rng(5)
    for cooks, orders in [(1, 4), (3, 2), (4, 4), (5, 3)] * 5:
        gains = rng.permutation(cooks * orders).reshape(cooks, orders) / 8 - 0.5
        plan: list[int | None] = [None] * cooks
        for cook, order in sorted(np.ndindex(gains.shape), key=lambda pair: -gains[pair]):
            if gains[cook, order] > 0 and plan[cook] is None and order not in plan:
                plan[cook] = order
        assert greedy_allocation(gains) == plan


def test_a_dish_is_paid_once_in_time_and_all_work_is_counted() -> None:
    """Two cooks take order 1, a third is late with order 2, a fourth rests; worked by hand."""
    game = OrderKitchen(services=1)
    state = game.initial_state(0)
    state.paces[:] = [(1, 1, 1), (2, 2, 2), (4, 4, 4), (1, 1, 1)]
    state.orders[:2] = [Order((2, 0, 1), 10, 3), Order((0, 2, 0), 20, 7)]
    step = game.step(state, {0: Take(1), 1: Take(1), 2: Take(2), 3: Rest()})
    assert step.rewards == {seat: {"sold": 10.0, "work": -float(3 + 6 + 8)} for seat in range(4)}
    outcome = game.outcome(state)
    assert outcome is not None
    assert outcome.scores == (-7.0,) * 4


def played(agents: list[str], **options: Any) -> dict[str, float]:
    """Means of measures over the same 24 shifts."""
    records = palestra.play(KITCHEN, agents=agents, episodes=24, seed=3, **options)
    found = [measure(record) for record in records]
    return {
        name: float(np.mean([one[name] for one in found]))
        for name in ("allocation-value", "orders-served", "cook-utilisation", "valid-allocations")
    }


@pytest.mark.parametrize(
    "options",
    [
        {"num_players": 1},
        {"num_players": 1, "staff": 3, "arrivals": 5},
        {"num_players": 1, "staff": 6, "arrivals": 2},
        {"num_players": 4, "planner": True},
        {"num_players": 4},
    ],
)
def test_an_optimal_dispatcher_earns_the_most_there_is(options: dict[str, Any]) -> None:
    found = played(["dispatcher"] * options["num_players"], **options)
    assert found["allocation-value"] == pytest.approx(1)
    assert found["valid-allocations"] == 1


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("skills", ["shown", "hidden"])
def test_planner_and_orchestrator_earn_more_than_cooks_alone_and_random_least(skills: str) -> None:
    random = played(["random"] * 4, skills=skills)["allocation-value"]
    alone = played(["dispatcher:policy=independent"] * 4, skills=skills)["allocation-value"]
    greedy = played(["dispatcher:policy=greedy"], num_players=1, skills=skills)
    orchestrated = played(["dispatcher"], num_players=1, skills=skills)["allocation-value"]
    cooks = ["dispatcher:policy=independent"] * 4
    planned = played(["dispatcher", *cooks], num_players=5, planner=True, skills=skills)
    assert random < alone < greedy["allocation-value"] < orchestrated
    assert alone < planned["allocation-value"]
    assert planned["cook-utilisation"] > greedy["cook-utilisation"]


@pytest.mark.exhaustive
def test_skills_that_are_shown_help_who_allocates() -> None:
    for seats in ({"num_players": 1}, {"num_players": 5, "planner": True}):
        agents = ["dispatcher"] * seats["num_players"]
        shown, hidden = (played(agents, skills=one, **seats) for one in ("shown", "hidden"))
        assert hidden["allocation-value"] < shown["allocation-value"]


def test_hidden_paces_are_expected_as_all_that_agree_with_what_was_seen() -> None:
    """Two portions at the chopper took 6 ticks, one each at pot and blender took 3."""
    game = OrderKitchen(num_players=1, staff=2, arrivals=1, skills="hidden")
    state = game.initial_state(0)
    chop, mix = Order((2, 0, 0), 8, 16), Order((0, 1, 1), 8, 16)
    state.seen += [(0, chop, 6), (0, mix, 3)]
    assert consistent_paces(4, ((chop, 6), (mix, 3))) == ((3, 1, 2), (3, 2, 1))
    state.orders[0] = Order((1, 1, 0), 10, 4)
    gains = expected_gains(game, state, 0)
    late = [sum(pace[:2]) for pace in product(range(1, 5), repeat=3)]
    unseen = sum(Fraction((10 if t <= 4 else 0) - t, len(late)) for t in late)
    assert gains[:, 0] == pytest.approx([Fraction(6 + -5, 2), float(unseen)])


def test_a_sampled_state_agrees_with_every_time_that_was_seen() -> None:
    episode = Episode(OrderKitchen(num_players=3, services=4, skills="hidden"), 5)
    for _ in range(2):
        episode.act({0: Take(1), 1: Take(2), 2: Take(1)})
    for number in range(20):
        copy = episode.game.determinize(episode.state, 1, Rng.seeded(number))
        assert copy.paces[1] == episode.state.paces[1]
        assert all(order.ticks(copy.paces[cook]) == took for cook, order, took in copy.seen)


def test_an_orchestrator_gives_no_order_and_no_cook_twice() -> None:
    episode = Episode(OrderKitchen(num_players=1), 0)
    episode.act({0: Give("cook_2", 3)})
    for wrong in (Give("cook_2", 1), Give("cook_1", 3), Take(1)):
        with pytest.raises(InvalidAction):
            episode.act({0: wrong})
    episode.act({0: Start()})
    assert episode.log[-1][0].data["took"] == [0, 3, 0, 0]


def test_cooks_are_free_to_leave_a_planners_advice() -> None:
    episode = Episode(OrderKitchen(num_players=3, planner=True), 0)
    episode.act({0: Give("player_1", 1)})
    episode.act({0: Start()})
    assert "Advised: player_1 order 1." in episode.game.describe(episode.state, 2)
    episode.act({1: Rest(), 2: Take(2)})
    assert episode.log[-1][0].data["took"] == [0, 2]


def test_a_planner_alone_is_refused() -> None:
    with pytest.raises(InvalidOption, match="num_players=2 or more"):
        OrderKitchen(num_players=1, planner=True)


@pytest.mark.parametrize("options", [{"num_players": 3, "arrivals": 2}, {"num_players": 7}])
def test_measures_of_a_shift_in_which_all_take_the_first_order(options: dict[str, Any]) -> None:
    (record,) = palestra.play(KITCHEN, agents=["first"] * options["num_players"], **options)
    paces = record.events[-1].data["paces"]
    menus = [event.data["orders"] for event in record.events if event.kind == "orders"]
    works = [[np.dot(pace, menu[0][0]) for pace in paces] for menu in menus]
    served = [min(work) <= menu[0][2] for work, menu in zip(works, menus, strict=True)]
    earned = sum(menu[0][1] for menu, done in zip(menus, served, strict=True) if done)
    assert record.returns[0] == earned - np.sum(works)
    found = measure(record)
    assert found["orders-served"] == sum(served) / sum(map(len, menus))
    assert found["valid-allocations"] == 0
    time = sum(len(work) * max(work) for work in works)
    assert found["cook-utilisation"] == pytest.approx(np.sum(works) / time)
    gains = [
        np.array(
            [
                [(p if np.dot(n, pace) <= d else 0) - np.dot(n, pace) for n, p, d in menu]
                for pace in paces
            ],
            float,
        )
        for menu in menus
    ]
    if len(paces) < 5:
        best = sum(map(most, gains))
        assert found["allocation-value"] == pytest.approx(record.returns[0] / best)
    assert found["allocation-value"] <= 1
