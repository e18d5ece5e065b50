"""Plots of hired experts: what is paid and what it brings."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.report.plot import Plot, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """By round: decisions that were right, and pay against gain."""
    told = [e.data for e in record.events if e.kind == "reveal" and "gained" in e.data]
    right = list(accumulate(data["decision"] == data["state"] for data in told))
    shares = [100 * n / at for at, n in enumerate(right, 1)]
    gained = list(accumulate(data["gained"] for data in told))
    paid = list(accumulate(sum(data["paid"]) for data in told))
    lines = [over_time("gained", gained, "step", 1), over_time("paid", paid, "step", 1)]
    return [
        Plot("Right decisions", [over_time("share so far", shares, start=1)], "round", "percent"),
        Plot("Gain and pay so far", lines, "round", "money"),
    ]
