"""Plots of a composed system: the value over price of components, and the budget left."""

from __future__ import annotations

from palestra import EpisodeRecord

from palestra_markets.composer.metrics import revealed_truth
from palestra_markets.reading import event_data
from palestra_markets.report.plot import Plot, Series, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """Value over price of the components bought and passed over, and the budget left."""
    left = [data["left"] for data in event_data(record.events, "decision")]
    truth = revealed_truth(record)
    rows, bought = truth.get("components", []), set(truth.get("bought", ()))
    kinds = [
        (name, [n for n in range(len(rows)) if (n in bought) == taken])
        for name, taken in (("bought", True), ("let go", False))
    ]
    lines = [
        Series(name, [n + 1 for n in own], [rows[n][1] / rows[n][0] for n in own], "points")
        for name, own in kinds
    ]
    start = int(record.options["budget"])
    return [
        Plot("What was on offer", lines, "component", "value over price"),
        Plot("Budget left", [over_time("budget", [start, *left], "step")], "component", "money"),
    ]
