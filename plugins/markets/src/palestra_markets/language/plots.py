"""Plots of talks: what is proposed, and advice against the truth."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.report.plot import Line, Plot, over_time


def proposals(record: EpisodeRecord) -> list[Plot]:
    """Shares or prices by round and who named them."""
    named = [e.data for e in record.events if e.kind in ("proposal", "offer")]
    what = "share" if named and "share" in named[0] else "price"
    lines = [
        Line(
            name,
            [at for at, data in enumerate(named, 1) if data["player"] == seat],
            [data[what] for data in named if data["player"] == seat],
            "points",
        )
        for seat, name in enumerate(record.players)
    ]
    return [Plot(f"Proposed {what}s", lines, "round", what)]


def persuasion(record: EpisodeRecord) -> list[Plot]:
    """By round: products advised, bought, and good."""
    told = [e.data for e in record.events if e.kind == "reveal" and "bought" in e.data]
    advised = [bool(e.data["buy"]) for e in record.events if e.kind == "advice"]
    counts = {
        "advised": advised,
        "bought": [bool(data["bought"]) for data in told],
        "good": [data["quality"] == "good" for data in told],
    }
    lines = [over_time(name, list(accumulate(row)), "step", 1) for name, row in counts.items()]
    return [Plot("Products so far", lines, "round", "products")]
