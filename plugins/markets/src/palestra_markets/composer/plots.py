"""Plots of a composed system: what was bought at which value a price."""

from __future__ import annotations

from palestra import EpisodeRecord

from palestra_markets.report.plot import Line, Plot, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """By component: value a price of what was bought and let go, and the budget left."""
    left = [event.data["left"] for event in record.events if event.kind == "decision"]
    told = [e.data for e in record.events if e.kind == "reveal" and "components" in e.data]
    rows = told[0]["components"] if told else []
    bought = set(told[0]["bought"]) if told else set()
    kinds = [
        (name, [n for n in range(len(rows)) if (n in bought) == taken])
        for name, taken in (("bought", True), ("let go", False))
    ]
    lines = [
        Line(name, [n + 1 for n in own], [rows[n][1] / rows[n][0] for n in own], "points")
        for name, own in kinds
    ]
    start = int(record.options["budget"])
    return [
        Plot("What was on offer", lines, "component", "value over price"),
        Plot("Budget left", [over_time("budget", [start, *left], "step")], "component", "money"),
    ]
