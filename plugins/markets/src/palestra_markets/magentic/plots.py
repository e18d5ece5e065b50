"""Plots of the marketplace: welfare, and whether the first proposal is paid."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.magentic.metrics import most_welfare
from palestra_markets.report.plot import Plot, Series, level, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """Plots by round and by payment."""
    customers, best = most_welfare(record)
    rounds = len(record.steps)
    gains = [
        sum(sum(step.rewards.get(seat, {}).values()) for seat in range(customers)) / 100
        for step in record.steps
    ]
    kinds = ("letter", "proposal", "payment")
    counts = {
        kind: list(accumulate(sum(e.kind == kind for e in s.events) for s in record.steps))
        for kind in kinds
    }
    paid = [event.data for event in record.events if event.kind == "payment"]
    chosen = [data["first"] for data in paid if data["choices"] > 1]
    shares = [100 * n / count for count, n in enumerate(accumulate(chosen), 1)]
    prices = sorted(data["price"] / 100 for data in paid)
    return [
        Plot(
            "Welfare of the customers",
            [over_time("gained", list(accumulate(gains)), "step", 1),
             level("most there is", best / 100, 1, max(1, rounds))],
            "round", "dollars",
        ),
        Plot(
            "First proposals among payments with a choice",
            [over_time("share so far", shares, start=1)], "payment", "percent",
        ),
        Plot(
            "What is sent", [over_time(f"{kind}s", counts[kind], "step", 1) for kind in kinds],
            "round", "so far",
        ),
        Plot(
            "Prices paid", [Series("price", range(1, len(prices) + 1), prices, "bars")],
            "payment, the cheapest first", "dollars",
        ),
    ]  # fmt: skip
