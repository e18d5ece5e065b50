"""Plots of an investor: wealth against buy-and-hold, the fall from the peak, prices."""

from __future__ import annotations

import numpy as np
from palestra import EpisodeRecord

from palestra_markets.report.plot import Plot, over_time
from palestra_markets.stocks.metrics import held_values, mornings, wealth


def plots(record: EpisodeRecord) -> list[Plot]:
    """Plots by trading day, in percent of the first day."""
    values, held = wealth(record), held_values(record)
    own = 100 * values / values[0]
    prices = np.array([data["prices"] for data in mornings(record)], float)
    return [
        Plot(
            "Wealth",
            [
                over_time("investor", own.tolist()),
                over_time("buy and hold", (100 * held).tolist()),
            ],
            "day", "percent of the first day",
        ),
        Plot(
            "Below the highest so far",
            [
                over_time(name, (100 * (line / np.maximum.accumulate(line) - 1)).tolist())
                for name, line in (("investor", own), ("buy and hold", held))
            ],
            "day", "percent",
        ),
        Plot(
            "Opening prices",
            [
                over_time(f"share {number}", 100 * row / row[0])
                for number, row in enumerate(prices.T[:10], 1)
            ],
            "day", "percent of the first day",
        ),
    ]  # fmt: skip
