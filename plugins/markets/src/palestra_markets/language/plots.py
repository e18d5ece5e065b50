"""Plots of talks: proposals over time, and advice against the truth."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.reading import event_data
from palestra_markets.report.plot import Plot, Series, over_time


def proposals_by_round(record: EpisodeRecord) -> list[Plot]:
    """Proposed shares or prices in order, by player."""
    proposals = [event.data for event in record.events if event.kind in ("proposal", "offer")]
    what = "share" if proposals and "share" in proposals[0] else "price"
    lines = [
        Series(
            name,
            [at for at, data in enumerate(proposals, 1) if data["player"] == seat],
            [data[what] for data in proposals if data["player"] == seat],
            "points",
        )
        for seat, name in enumerate(record.players)
    ]
    return [Plot(f"Proposed {what}s", lines, "round", what)]


def products_by_round(record: EpisodeRecord) -> list[Plot]:
    """By round: products recommended, bought and good so far."""
    rounds = [data for data in event_data(record.events, "reveal") if "bought" in data]
    advised = [bool(data["buy"]) for data in event_data(record.events, "advice")]
    counts = {
        "advised": advised,
        "bought": [bool(data["bought"]) for data in rounds],
        "good": [data["quality"] == "good" for data in rounds],
    }
    lines = [over_time(name, list(accumulate(row)), "step", 1) for name, row in counts.items()]
    return [Plot("Products so far", lines, "round", "products")]
