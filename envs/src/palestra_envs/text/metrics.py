"""Metrics that studies of shared resources report."""

from __future__ import annotations

from collections.abc import Sequence

from palestra import EpisodeRecord, metric


@metric("total-gain", measures=("text/*",))
def total_gain(record: EpisodeRecord) -> float:
    """The sum of all seats' returns."""
    return float(sum(record.returns))


def gini(amounts: Sequence[float]) -> float:
    """The Gini coefficient of amounts from 0 on: 0 if all are equal, (n - 1) / n if one has all."""
    total, n = sum(amounts), len(amounts)
    if total <= 0:
        return 0.0
    ranked = sorted(amounts)
    weighted = sum((rank + 1) * amount for rank, amount in enumerate(ranked))
    return 2 * weighted / (n * total) - (n + 1) / n


@metric("equality", measures=("text/*",))
def equality(record: EpisodeRecord) -> float:
    """One minus the Gini coefficient of returns."""
    return 1.0 - gini(record.returns)


@metric("rounds-survived", measures=("text/Commons-v0",), unit="rounds")
def rounds_survived(record: EpisodeRecord) -> float:
    """Rounds harvested before the stock collapsed, or all of them."""
    return float(sum(event.kind == "catch" for event in record.events))


@metric("efficiency", measures=("text/Commons-v0",))
def efficiency(record: EpisodeRecord) -> float:
    """Total gain divided by the largest sustainable total, half the capacity per round."""
    rounds, capacity = int(record.options["rounds"]), int(record.options["capacity"])
    return total_gain(record) / (rounds * (capacity // 2))
