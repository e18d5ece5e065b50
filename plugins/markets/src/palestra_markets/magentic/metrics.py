"""Metrics for the Magentic Marketplace."""

from __future__ import annotations

from typing import Any

from palestra import EpisodeRecord, metric

from palestra_markets.magentic.scenario import part_of


def _openings(record: EpisodeRecord, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in record.opening if event.kind == kind]


def _best_gain(request: dict[str, Any], shops: list[dict[str, Any]]) -> int:
    """The most a customer could gain: at the lowest price of any business that serves them."""
    gains = [0]
    for shop in shops:
        has_items = set(request["wants"]) <= set(shop["menu"])
        if has_items and set(request["needs"]) <= set(shop["amenities"]):
            listed = sum(shop["menu"][item] for item in request["wants"])
            gains.append(request["value"] - part_of(listed, shop["floor"]))
    return max(gains)


def most_welfare(record: EpisodeRecord) -> tuple[int, int]:
    """The number of customers, and the most cents they could gain, each at the lowest price."""
    requests, shops = _openings(record, "request"), _openings(record, "shop")
    return len(requests), sum(_best_gain(request, shops) for request in requests)


@metric("welfare-ratio", measures=("markets/Magentic-v0",))
def welfare_ratio(record: EpisodeRecord) -> float:
    """What the customers gained, divided by the most they could gain."""
    customers, best = most_welfare(record)
    return sum(record.returns[:customers]) / best if best else 1.0


@metric("first-proposal-share", measures=("markets/Magentic-v0",))
def first_proposal_share(record: EpisodeRecord) -> float:
    """The share of payments with a choice that went to the first proposal; 0 if there are none."""
    paid = [event.data for event in record.events if event.kind == "payment"]
    chosen = [data["first"] for data in paid if data["choices"] > 1]
    return sum(chosen) / len(chosen) if chosen else 0.0


@metric("requests-met", measures=("markets/Magentic-v0",))
def requests_met(record: EpisodeRecord) -> float:
    """The share of the customers whose request was met."""
    customers = len(_openings(record, "request"))
    met = sum("value" in terms for step in record.steps for terms in step.rewards.values())
    return met / customers
