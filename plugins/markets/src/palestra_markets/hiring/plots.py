"""Plots of hired experts: right decisions, gain and pay."""

from __future__ import annotations

from itertools import accumulate

from palestra import EpisodeRecord

from palestra_markets.reading import event_data
from palestra_markets.report.plot import Plot, over_time


def plots(record: EpisodeRecord) -> list[Plot]:
    """By round: the share of right decisions so far, and pay against gain."""
    rounds = [data for data in event_data(record.events, "reveal") if "gained" in data]
    right = list(accumulate(data["decision"] == data["state"] for data in rounds))
    shares = [100 * n / at for at, n in enumerate(right, 1)]
    gained = list(accumulate(data["gained"] for data in rounds))
    paid = list(accumulate(sum(data["paid"]) for data in rounds))
    lines = [over_time("gained", gained, "step", 1), over_time("paid", paid, "step", 1)]
    return [
        Plot("Right decisions", [over_time("share so far", shares, start=1)], "round", "percent"),
        Plot("Gain and pay so far", lines, "round", "money"),
    ]
