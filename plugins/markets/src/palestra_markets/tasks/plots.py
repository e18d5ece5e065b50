"""Plots of task auctions: who wins, at which price, how hard."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.report.plot import Line, Plot, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """By round; prices by how hard the task was."""
    tasks = [e.data for e in record.events if e.kind == "reveal" and "succeeded" in e.data]
    won = [
        over_time(name, list(accumulate(task["winner"] == seat for task in tasks)), "step", 1)
        for seat, name in enumerate(record.players)
    ]
    done = [
        Line(
            "succeeded" if outcome else "failed",
            [t["difficulty"] for t in tasks if t["winner"] >= 0 and t["succeeded"] == outcome],
            [t["paid"] for t in tasks if t["winner"] >= 0 and t["succeeded"] == outcome],
            "points",
        )
        for outcome in (True, False)
    ]
    return [
        Plot("Tasks won so far", won, "round", "tasks"),
        Plot("Prices", done, "difficulty", "money"),
    ]
