"""Plots of a double auction: prices, the book, and surplus."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from palestra import EpisodeRecord, retrace
from palestra.kernel.game import total

from palestra_markets.report.plot import Plot, Series, level, over_time
from palestra_markets.trading.metrics import optimum
from palestra_markets.trading.order_book import ASK, BID, depth

LEVELS = 1000


def plots(record: EpisodeRecord) -> list[Plot]:
    """Prices and best quotes over time, the book at the end, and the surplus."""
    best, steps = optimum(record), len(record.steps)
    book: Any = None
    asks: list[float] = []
    bids: list[float] = []
    for episode in retrace(record):
        book = episode.state
        asks.append(_quote(book, ASK))
        bids.append(_quote(book, BID))
    paid = [
        (at, event.data["price"])
        for at, step in enumerate(record.steps, 1)
        for event in step.events
        if event.kind == "trade"
    ]
    prices = (
        over_time("best ask", asks, "step"),
        over_time("best bid", bids, "step"),
        Series("trade", [at for at, _ in paid], [price for _, price in paid], "points"),
        level("equilibrium", best.price, 0, steps),
    )
    earned = [0.0, *accumulate(sum(map(total, s.rewards.values())) for s in record.steps)]
    most = best.surplus * int(record.options["periods"])
    return [
        Plot("Prices", prices, "order", "price"),
        Plot("The book at last", _depth(book), "price", "units at this price or better"),
        Plot(
            "Surplus",
            (over_time("earned", earned, "step"), level("all there is", most, 0, steps)),
            "order",
            "money",
        ),
    ]


def _quote(book: Any, side: int) -> float:
    """The best price of a side; nan, which is not drawn, where there is none."""
    rows = depth(book, side, 1)
    return float(rows[0][0]) if rows else float("nan")


def _depth(book: Any) -> list[Series]:
    lines = []
    for side, name in ((BID, "bids"), (ASK, "asks")):
        rows = sorted(depth(book, side, LEVELS), reverse=side == BID)
        sums = list(accumulate(quantity for _, quantity in rows))
        lines.append(Series(name, [price for price, _ in rows], sums, "bars"))
    return lines
