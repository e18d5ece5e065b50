"""Plots of task auctions: who wins, at which prices, and how difficult the tasks are."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.report.plot import Plot, Series, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """Tasks won by round, and prices by difficulty."""
    tasks = [e.data for e in record.events if e.kind == "reveal" and "succeeded" in e.data]
    won = [
        over_time(name, list(accumulate(task["winner"] == seat for task in tasks)), "step", 1)
        for seat, name in enumerate(record.players)
    ]
    done = [
        Series(
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
