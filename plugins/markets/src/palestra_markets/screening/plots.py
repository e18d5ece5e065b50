"""Plots of a screening desk: costs, notes bought, decisions."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.report.plot import Plot, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """Plots by step and by case."""
    cases = [e.data for e in record.events if e.kind == "reveal" and "accepted" in e.data]
    counts = {
        "accepted": [case["accepted"] for case in cases],
        "good": [case["good"] for case in cases],
        "missed": [case["good"] and not case["accepted"] for case in cases],
    }
    cost = [-sum(sum(t.values()) for t in s.rewards.values()) for s in record.steps]
    return [
        Plot("Cost so far", [over_time("cost", [0, *accumulate(cost)], "step")], "step", "money"),
        Plot(
            "Cases so far",
            [over_time(n, list(accumulate(row)), "step", 1) for n, row in counts.items()],
            "case", "cases",
        ),
        Plot(
            "Notes read", [over_time("notes", [case["notes"] for case in cases], "bars", 1)],
            "case", "notes",
        ),
    ]  # fmt: skip
