"""Plots of house auctions: prices, and what is left of budgets."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.report.plot import Plot, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """By house, in thousands."""
    sales = [event.data for event in record.events if event.kind == "sale"]
    budgets = [event.data["budget"] for event in record.opening if event.kind == "persona"]
    left = []
    for seat, budget in enumerate(budgets):
        paid = [sale["price"] * (sale["winner"] == seat) for sale in sales]
        spent = [0, *accumulate(paid)]
        left.append(over_time(record.players[seat], [budget - sum_ for sum_ in spent], "step"))
    prices = over_time("price", [sale["price"] for sale in sales], "bars", 1)
    return [
        Plot("Prices", [prices], "house", "thousands"),
        Plot("Budgets left", left, "houses sold", "thousands"),
    ]
