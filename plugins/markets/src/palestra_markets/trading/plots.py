"""Plots of a double auction: prices, the book, surplus."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from palestra import EpisodeRecord, retrace

from palestra_markets.report.plot import Line, Plot, level
from palestra_markets.trading.metrics import optimum
from palestra_markets.trading.order_book import ASK, BID, depth

LEVELS = 1000


def plots(record: EpisodeRecord) -> list[Plot]:
    """The path of prices with the best quotes, how deep the book was at last, and surplus."""
    best, steps = optimum(record), len(record.steps)
    book: Any = None
    quotes: tuple[list[float], ...] = ([], [], [], [])
    paid: tuple[list[float], list[float]] = ([], [])
    for at, episode in enumerate(retrace(record)):
        book = episode.state
        sides = [depth(book, side, 1) for side in (ASK, BID)]
        for side, rows in enumerate(sides):
            quotes[2 * side].append(at)
            quotes[2 * side + 1].append(float(rows[0][0]) if rows else float("nan"))
    for at, step in enumerate(record.steps, 1):
        for event in step.events:
            if event.kind == "trade":
                paid[0].append(at)
                paid[1].append(event.data["price"])
    asks, bids = (
        Line("best ask", quotes[0], quotes[1], "step"),
        Line("best bid", quotes[2], quotes[3], "step"),
    )
    trades = Line("trade", paid[0], paid[1], "points")
    earned = [0.0, *accumulate(sum(map(_total, s.rewards.values())) for s in record.steps)]
    most = best.surplus * int(record.options["periods"])
    return [
        Plot(
            "Prices", (asks, bids, trades, level("equilibrium", best.price, 0, steps)),
            "order", "price",
        ),
        Plot("The book at last", _depth(book), "price", "units at this price or better"),
        Plot(
            "Surplus", (Line("earned", range(steps + 1), earned, "step"),
                        level("all there is", most, 0, steps)), "order", "money",
        ),
    ]  # fmt: skip


def _total(terms: Mapping[str, float]) -> float:
    return sum(terms.values())


def _depth(book: Any) -> list[Line]:
    lines = []
    for side, name in ((BID, "bids"), (ASK, "asks")):
        rows = sorted(depth(book, side, LEVELS), reverse=side == BID)
        sums = list(accumulate(quantity for _, quantity in rows))
        lines.append(Line(name, [price for price, _ in rows], sums, "bars"))
    return lines
