"""Measures of grids, commons and negotiation by hand: uneven seats, early ends, forfeits."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import pytest
from palestra import EpisodeRecord, measure
from palestra.records.record import EventRecord, OutcomeRecord, StepRecord, TurnRecord

Told = tuple[str, dict[str, Any]]
Paid = dict[int, dict[str, float]]


def record(
    env: str,
    *,
    opening: Sequence[Told] = (),
    steps: Sequence[Sequence[Told]] = (),
    rewards: Sequence[Paid] = (),
    turns: Sequence[Sequence[TurnRecord]] = (),
    results: Sequence[str] = ("score", "score"),
    returns: Sequence[float] = (),
    **options: Any,
) -> EpisodeRecord:
    """A record with these events, given as kinds and data, and rewards by step."""
    returns = tuple(returns) or (0.0,) * len(results)
    played = [
        StepRecord(
            turns=list(turns[n]) if n < len(turns) else [TurnRecord(0, 0)],
            rewards=rewards[n] if n < len(rewards) else {},
            events=[EventRecord(k, "", d) for k, d in (steps[n] if n < len(steps) else ())],
        )
        for n in range(max(len(steps), len(rewards), len(turns)))
    ]
    return EpisodeRecord(
        env,
        0,
        tuple(f"player_{seat}" for seat in range(len(results))),
        options=options,
        opening=[EventRecord(kind, "", data) for kind, data in opening],
        steps=played,
        outcome=OutcomeRecord(tuple(results), returns),  # type: ignore[arg-type]
        returns=returns,
    )


# Shared resources


def commons(returns: Sequence[float], rounds: int, **options: Any) -> EpisodeRecord:
    caught: list[list[Told]] = [[("catch", {"caught": [], "left": 0})]] * rounds
    given = {"rounds": 12, "capacity": 100, **options}
    results = ["score"] * len(returns)
    asked = [[TurnRecord(seat, {"amount": 1}) for seat in range(len(returns))]] * rounds
    return record(
        "text/Commons-v0", steps=caught, turns=asked, returns=returns, results=results, **given
    )


def test_efficiency_of_a_lake_that_is_emptied_at_the_end_is_capped() -> None:
    found = measure(commons([200, 150, 150, 100, 50], 12))  # 650 of 12 * 50: 13/12
    assert (found["efficiency"], found["survived"], found["rounds-survived"]) == (1, 1, 12)
    found = measure(commons([60, 30, 0, 0, 0], 1))
    assert found["efficiency"] == pytest.approx(90 / 600)
    assert found["survived"] == 0
    assert found["equality"] == pytest.approx(1 - (2 * (30 + 3 * 60 + 3 * 30)) / (2 * 5 * 90))


def test_over_usage_counts_what_was_asked_for() -> None:
    def asked(*amounts: int | None) -> list[TurnRecord]:
        return [
            TurnRecord(seat, None if amount is None else {"amount": amount})
            for seat, amount in enumerate(amounts)
        ]

    caught: list[Told] = [("catch", {"caught": [10, 10, 10, 10, 11], "left": 49})]
    regrown: list[Told] = [("message", {}), ("regrowth", {"stock": 90})]
    played = record(
        "text/Commons-v0",
        opening=[("stock", {"stock": 100})],
        turns=[asked(10, 10, 10, 10, 11), [TurnRecord(0, {"text": "hm"})], asked(9, 10, 9)],
        steps=[caught, regrown, caught],  # 100/2/5 = 10 each; then three are left: 90/2/3 = 15
        results=["score"] * 5,
        rounds=12,
        capacity=100,
    )
    assert measure(played)["over-usage"] == 1 / 8


def test_trash_with_negative_returns_has_an_equality() -> None:
    done: list[list[Told]] = [
        [("clearing", {"cleared": cleared, "left": 0})] for cleared in ([40, 0, 8], [20, 0, 4])
    ]
    found = measure(
        record("text/Trash-v0", steps=done, returns=[-30, 30, 18], results=["score"] * 3, rounds=12)
    )
    assert found["effort-equality"] == pytest.approx(1 - (2 * (60 + 48 + 12)) / (2 * 3 * 72))
    assert found["equality"] == pytest.approx(1 - (2 * (60 + 48 + 12)) / (2 * 3 * 78))
    assert (found["rounds-survived"], found["survived"], found["welfare"]) == (2, 0, 18)


# Negotiation


def negotiation(results: Sequence[str], returns: Sequence[float]) -> EpisodeRecord:
    """Two books and a hat; the first values 2 and 6, the second 5 and 0."""
    opening: list[Told] = [("table", {"counts": [2, 1]})]
    opening += [("values", {"values": [2, 6]}), ("values", {"values": [5, 0]})]
    return record("text/Negotiation-v0", opening=opening, results=results, returns=returns)


@pytest.mark.parametrize(
    ("returns", "distance", "joint"),
    [
        ((6, 10), 0.0, 1.0),  # the hat to one, the books to the other
        ((8, 5), 0.0, 13 / 16),
        ((2, 5), 6.0, 7 / 16),  # from (8, 5); (6, 10) is 6.4 away
        ((5, 9), sqrt(2), 14 / 16),
        ((0, 10), 6.0, 10 / 16),
    ],
)
def test_the_distance_of_a_deal_from_the_efficient_ones(
    returns: tuple[float, float], distance: float, joint: float
) -> None:
    # efficient are (10, 0), (8, 5) and (6, 10): the first gets the hat and 2, 1 or 0 books
    found = measure(negotiation(["score", "score"], returns))
    assert found["pareto-distance"] == pytest.approx(distance)
    assert found["joint-value"] == pytest.approx(joint)
    assert found["advantage:player_1"] == returns[1] - returns[0]
    assert found["agreement"] == 1


@pytest.mark.parametrize("results", [("none", "none"), ("forfeit", "none")])
def test_without_a_deal_there_is_no_distance(results: tuple[str, str]) -> None:
    found = measure(negotiation(results, (0, 0)))
    assert (found["agreement"], found["joint-value"]) == (0, 0)
    assert "pareto-distance" not in found
    assert "advantage:player_0" not in found


def test_the_route_of_a_maze() -> None:
    said: list[list[Told]] = [[("message", {"text": "left"})], [], [("message", {"text": "no"})]]
    lost = record("text/CollaborationMaze-v0", steps=said, returns=[0.6, 0.6])
    found = measure(lost)
    assert (found["route-covered"], found["goal-reached"], found["messages"]) == (0.6, 0, 2)


# Grids


def test_sustainability_is_the_mean_time_of_apples_by_player() -> None:
    eaten: list[Paid] = [
        {0: {"apples": 1.0}, 1: {"beams": -1.0}},
        {0: {"apples": 1.0, "fines": -50.0}, 2: {"fines": -50.0}},
        {},
        {1: {"apples": 1.0}},
    ]
    found = measure(record("grid/Harvest-v0", rewards=eaten, results=["truncated"] * 3))
    assert found["sustainability"] == pytest.approx(((1 + 2) / 2 + 4) / 2)  # player_2 ate none
    assert (found["apples"], found["fine-rate"]) == (3, 2 / 4)
    assert "sustainability" not in measure(record("grid/Harvest-v0", rewards=[{}]))


def test_cleaning_is_a_share_of_moves() -> None:
    turns = [[TurnRecord(0, 8, "clean"), TurnRecord(1, 0, "stay")], [TurnRecord(0, 8, "clean")]]
    found = measure(record("grid/CleanUp-v0", turns=turns))
    assert found["cleaning-share"] == pytest.approx(2 / 3)


def test_goals_of_paths_and_who_reached_none() -> None:
    paid: list[Paid] = [{0: {"goals": 1.0}}, {0: {"goals": 1.0}, 2: {"goals": 1.0}}, {}, {}]
    found = measure(record("grid/PathFinding-v0", rewards=paid, results=["truncated"] * 4))
    assert (found["throughput"], found["idle-share"]) == (3 / 4, 2 / 4)


def test_a_robot_that_never_pays_off_has_no_break_even() -> None:
    paid: list[Paid] = [{0: {"repair": -1.0}}, {0: {"repair": -1.0, "injury": -9.0}}]
    made = record("grid/Delivery-v0", rewards=paid, returns=[30, -10], robot_price=5000.0)
    assert (measure(made)["margin"], measure(made)["break-even"]) == (10, 500)
    assert measure(made)["injuries"] == 1
    lost = record("grid/Delivery-v0", rewards=paid, returns=[-30, -10], robot_price=5000.0)
    assert "break-even" not in measure(lost)


def test_fetching_and_what_it_cost() -> None:
    paid: list[Paid] = [{0: {"go": -0.6}}, {1: {"ask": -0.5}}, {1: {"ask": -0.75, "recall": -0.05}}]
    found = measure(record("grid/Fetch-v0", rewards=[*paid, {0: {"success": 10.0}}]))
    assert (found["fetched"], found["times-asked"]) == (1, 2)
    assert found["search-cost"] == pytest.approx(1.9)
    assert measure(record("grid/Fetch-v0", rewards=paid))["fetched"] == 0


def test_food_fruit_soups_and_goals() -> None:
    food: list[Paid] = [{0: {"food": 0.25}, 1: {"food": -0.1}}, {2: {"food": 0.5}}]
    found = measure(record("grid/Foraging-v0", rewards=food, normalize_reward=True))
    assert found["food-share"] == 0.75
    raw = record("grid/Foraging-v0", rewards=food, normalize_reward=False)
    assert "food-share" not in measure(raw)
    eaten: list[Paid] = [{0: {"fruit_1": 1.0}}, {0: {"fruit_4": 1.0}}]
    assert measure(record("grid/Fruit-v0", rewards=eaten, num_fruits=5))["fruit-share"] == 2 / 5
    both: list[Paid] = [{0: {"soup": 40.0}, 1: {"soup": 40.0}}, {0: {"soup": 20.0}}]
    assert measure(record("grid/Kitchen-v0", rewards=both))["soups"] == 3
    true: list[Paid] = [{0: {"goal": 1.0}}, {0: {"goal": 1.0}, 2: {"goal": 1.0}}, {}, {}]
    found = measure(record("grid/XLand-v0", rewards=true, results=["truncated"] * 3))
    assert found["goal-share"] == pytest.approx(3 / 12)


def test_particles_and_pursuers() -> None:
    paid: list[Paid] = [
        {0: {"distance": -2.0, "contacts": -0.5}, 1: {"distance": -2.0, "contacts": -0.5}},
        {0: {"distance": -1.0}, 1: {"distance": -1.0}},
    ]
    found = measure(record("grid/Particles-v0", rewards=paid))
    assert (found["mean-distance"], found["contact-rate"]) == (1.5, 0.5)
    hunted: list[Paid] = [{0: {"urgency": -0.1}}, {0: {"catches": 5.0}, 1: {"catches": 5.0}}, {}]
    found = measure(record("grid/Pursuit-v0", rewards=hunted, results=["truncated"] * 2))
    assert (found["catch-steps"], found["all-caught"]) == (1, 0)
    assert measure(record("grid/Pursuit-v0", rewards=hunted))["all-caught"] == 1
    forfeit = record("grid/Pursuit-v0", rewards=hunted, results=["forfeit", "none"])
    assert measure(forfeit)["all-caught"] == 0


def test_signals_use_some_of_the_vocabulary() -> None:
    moves = 5  # a token's number is the action's divided by this
    turns = [[TurnRecord(0, 2 * moves + 1), TurnRecord(1, 0)], [TurnRecord(0, 2 * moves)]]
    paid: list[Paid] = [{0: {"success": 1.0}, 1: {"success": 1.0}}, {}]
    found = measure(record("grid/SignalForaging-v0", turns=turns, rewards=paid, vocabulary=4))
    assert (found["foods-taken"], found["vocabulary-used"]) == (1, 2 / 4)
