"""Metrics for the double auction."""

from __future__ import annotations

from math import sqrt
from typing import Any

from palestra import EpisodeRecord, metric

from palestra_markets.trading.schedules import Equilibrium, equilibrium


def optimum(record: EpisodeRecord) -> Equilibrium:
    """The competitive outcome of the values and costs of a record."""
    deals: list[Any] = [event.data for event in record.opening if event.kind == "deal"]
    demand = [deal["units"] for deal in deals if deal["role"] == "buyer"]
    supply = [deal["units"] for deal in deals if deal["role"] == "seller"]
    return equilibrium(demand, supply)


@metric(
    "market-efficiency",
    measures=("markets/DoubleAuction-v0",),
    better="higher",
)
def market_efficiency(record: EpisodeRecord) -> float:
    """Surplus earned, divided by the most that could be earned.

    If nothing can be gained, it is 1 plus the surplus earned.
    """
    best = optimum(record).surplus * int(record.options["periods"])
    earned = sum(record.returns)
    return earned / best if best else 1.0 + earned


@metric(
    "buyers-share",
    measures=("markets/DoubleAuction-v0",),
)
def buyers_share(record: EpisodeRecord) -> float:
    """The buyers' share of the surplus earned; one half where none is earned."""
    buyers = sum(event.data.get("role") == "buyer" for event in record.opening)
    total = sum(record.returns)
    return sum(record.returns[:buyers]) / total if total else 0.5


@metric(
    "price-error",
    measures=("markets/DoubleAuction-v0",),
    bounds=(0.0, None),
    better="lower",
)
def price_error(record: EpisodeRecord) -> float:
    """The root mean square deviation of trade prices from the equilibrium price, relative to it.

    Smith's coefficient of convergence; 0 without a trade.
    """
    price = optimum(record).price
    trades = [event.data for event in record.events if event.kind == "trade"]
    units = sum(trade["quantity"] for trade in trades)
    if not units:
        return 0.0
    squares = sum(trade["quantity"] * (trade["price"] - price) ** 2 for trade in trades)
    return sqrt(squares / units) / price
