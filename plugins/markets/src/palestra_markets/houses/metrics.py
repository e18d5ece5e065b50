"""Metrics of house auctions."""

from __future__ import annotations

import numpy as np
from palestra import EpisodeRecord, metric

from palestra_markets.houses.personas import House, Persona
from palestra_markets.reading import event_data


@metric(
    "house-efficiency",
    measures=("markets/HouseAuction-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def house_efficiency(record: EpisodeRecord) -> float:
    """The total value of the houses to their buyers, divided by the highest possible total."""
    dealt = event_data(record.opening, "persona")
    personas = [Persona(tuple(data["weights"]), data["budget"]) for data in dealt]
    offered = event_data(record.opening, "house") + event_data(record.events, "house")
    marks = {data["house"]: tuple(data["marks"]) for data in offered}
    got = best = 0
    for sale in event_data(record.events, "sale"):
        values = [persona.value(House("", marks[sale["house"]])) for persona in personas]
        best += max(values)
        got += values[sale["winner"]] if sale["winner"] >= 0 else 0
    return float(got / best) if best else 1.0


@metric(
    "profiling-accuracy",
    measures=("markets/HouseAuction-v0",),
    bounds=(0.0, 1.0),
    better="higher",
)
def profiling_accuracy(record: EpisodeRecord) -> float:
    """How often a bidder names a rival's favourite attribute; 0 before the end."""
    reveals = [data for data in event_data(record.events, "reveal") if "likes" in data]
    if not reveals:
        return 0.0
    likes, guesses = reveals[0]["likes"], reveals[0]["guesses"]
    count: int = len(likes)
    right = [
        guess == likes[(seat + 1 + turn) % count]
        for seat, row in enumerate(guesses)
        for turn, guess in enumerate(row)
    ]
    return float(np.mean(right))


@metric(
    "survival",
    measures=("markets/HouseAuction-v0",),
    bounds=(0.0, 1.0),
)
def survival(record: EpisodeRecord) -> float:
    """The share of the bidders who can still bid when the last house is offered."""
    left: list[int] = [data["budget"] for data in event_data(record.opening, "persona")]
    for sale in event_data(record.events, "sale")[: int(record.options["houses"]) - 1]:
        if sale["winner"] >= 0:
            left[sale["winner"]] -= sale["price"]
    least = int(record.options["increment"])
    return sum(money >= least for money in left) / len(left)


@metric(
    "budget-spent",
    measures=("markets/HouseAuction-v0",),
    bounds=(0.0, 1.0),
)
def budget_spent(record: EpisodeRecord) -> float:
    """The money paid for all houses, divided by the sum of all budgets."""
    paid = sum(sale["price"] for sale in event_data(record.events, "sale"))
    budgets: int = sum(data["budget"] for data in event_data(record.opening, "persona"))
    return float(paid / budgets)
