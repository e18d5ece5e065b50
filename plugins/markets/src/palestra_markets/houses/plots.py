"""Plots of house auctions: prices, and the budgets left."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.reading import event_data
from palestra_markets.report.plot import Plot, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """Prices by house, and budgets left after each sale, in thousands."""
    sales = event_data(record.events, "sale")
    budgets = [data["budget"] for data in event_data(record.opening, "persona")]
    left = []
    for seat, budget in enumerate(budgets):
        paid = [sale["price"] * (sale["winner"] == seat) for sale in sales]
        spent = [0, *accumulate(paid)]
        left.append(over_time(record.players[seat], [budget - total for total in spent], "step"))
    prices = over_time("price", [sale["price"] for sale in sales], "bars", 1)
    return [
        Plot("Prices", [prices], "house", "thousands"),
        Plot("Budgets left", left, "houses sold", "thousands"),
    ]
