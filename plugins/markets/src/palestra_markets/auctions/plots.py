"""Plots of auctions: bids against values, revenue."""

from __future__ import annotations

from palestra import EpisodeRecord

from palestra_markets.report.plot import Line, Plot, over_time


def sealed(record: EpisodeRecord) -> list[Plot]:
    """Bids by value, and what the seller was paid in every round."""
    values: dict[int, list[float]] = {}
    for event in record.events:
        if event.kind == "value":
            values.setdefault(event.data["player"], []).append(event.data["value"])
    sales = [event.data for event in record.events if event.kind == "sale"]
    bids = [
        Line(record.players[seat], own[: len(sales)],
             [sale["bids"][seat] for sale in sales[: len(own)]], "points")
        for seat, own in sorted(values.items())
    ]  # fmt: skip
    revenue = [sale["revenue"] for sale in sales]
    return [
        Plot("Bids", bids, "value", "bid"),
        Plot("Revenue", [over_time("paid to the seller", revenue, "bars", 1)], "round", "money"),
    ]


def pages(record: EpisodeRecord) -> list[Plot]:
    """Bids and payments by round, for auctions of places on a page."""
    told = [event.data for event in record.events if event.kind == "page"]
    seats = range(len(record.players))
    revenue = [sum(page["payments"]) for page in told]
    bids = [
        over_time(record.players[seat], [page["bids"][seat] for page in told], "step", 1)
        for seat in seats
    ]
    return [
        Plot("Bids", bids, "round", "for a click"),
        Plot("Revenue", [over_time("paid to the seller", revenue, "step", 1)], "round", "money"),
    ]
