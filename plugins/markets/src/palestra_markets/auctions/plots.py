"""Plots of sealed-bid auctions: bids against values, and revenue."""

from __future__ import annotations

from palestra import EpisodeRecord

from palestra_markets.reading import event_data
from palestra_markets.report.plot import Plot, Series, over_time


def bids_and_revenue(record: EpisodeRecord) -> list[Plot]:
    """Bids by value, and what the seller is paid in each round."""
    values: dict[int, list[float]] = {}
    for data in event_data(record.events, "value"):
        values.setdefault(data["player"], []).append(data["value"])
    sales = event_data(record.events, "sale")
    bids = [
        Series(record.players[seat], own[: len(sales)],
             [sale["bids"][seat] for sale in sales[: len(own)]], "points")
        for seat, own in sorted(values.items())
    ]  # fmt: skip
    revenue = [sale["revenue"] for sale in sales]
    return [
        Plot("Bids", bids, "value", "bid"),
        Plot("Revenue", [over_time("paid to the seller", revenue, "bars", 1)], "round", "money"),
    ]


def page_bids(record: EpisodeRecord) -> list[Plot]:
    """Bids and payments by round, for auctions of positions on a page."""
    pages = event_data(record.events, "page")
    seats = range(len(record.players))
    revenue = [sum(page["payments"]) for page in pages]
    bids = [
        over_time(record.players[seat], [page["bids"][seat] for page in pages], "step", 1)
        for seat in seats
    ]
    return [
        Plot("Bids", bids, "round", "for a click"),
        Plot("Revenue", [over_time("paid to the seller", revenue, "step", 1)], "round", "money"),
    ]
