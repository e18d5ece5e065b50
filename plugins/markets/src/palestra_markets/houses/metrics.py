"""Numbers over a record of house auctions."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra import EpisodeRecord, metric

from palestra_markets.houses.personas import House, Persona


def _data(events: Any, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in events if event.kind == kind]


@metric(
    "house-efficiency",
    measures=("markets/HouseAuction-v0",),
    summary="What the houses are worth to who got them, over the most.",
)
def house_efficiency(record: EpisodeRecord) -> float:
    """What the houses are worth to who got them, over what to who values each most."""
    personas = [Persona(tuple(d["weights"]), d["budget"]) for d in _data(record.opening, "persona")]
    offered = _data(record.opening, "house") + _data(record.events, "house")
    marks = {data["house"]: tuple(data["marks"]) for data in offered}
    got = best = 0
    for sale in _data(record.events, "sale"):
        values = [persona.value(House("", marks[sale["house"]])) for persona in personas]
        best += max(values)
        got += values[sale["winner"]] if sale["winner"] >= 0 else 0
    return float(got / best) if best else 1.0


@metric(
    "profiling-accuracy",
    measures=("markets/HouseAuction-v0",),
    summary="How often a rival's favourite attribute was named.",
)
def profiling_accuracy(record: EpisodeRecord) -> float:
    """How often a rival's favourite attribute was named; 0 before the end."""
    told = _data(record.events, "reveal")
    if not told:
        return 0.0
    likes, guesses = told[0]["likes"], told[0]["guesses"]
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
    summary="The part of the bidders who could still bid when the last house was offered.",
)
def survival(record: EpisodeRecord) -> float:
    """The part of the bidders who could still bid when the last house was offered."""
    left: list[int] = [data["budget"] for data in _data(record.opening, "persona")]
    for sale in _data(record.events, "sale")[: int(record.options["houses"]) - 1]:
        if sale["winner"] >= 0:
            left[sale["winner"]] -= sale["price"]
    least = int(record.options["increment"])
    return sum(money >= least for money in left) / len(left)


@metric(
    "budget-spent",
    measures=("markets/HouseAuction-v0",),
    summary="What was paid for all houses, over all budgets.",
)
def budget_spent(record: EpisodeRecord) -> float:
    """What was paid for all houses, over all budgets."""
    paid = sum(sale["price"] for sale in _data(record.events, "sale"))
    budgets: int = sum(data["budget"] for data in _data(record.opening, "persona"))
    return float(paid / budgets)
