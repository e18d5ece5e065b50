"""Metrics for a screening desk."""

from __future__ import annotations

from typing import Any

from palestra import EpisodeRecord, metric

from palestra_markets.screening.evidence import optimal_cost
from palestra_markets.screening.screening import GROUPS, Screening


def _cases(record: EpisodeRecord) -> list[dict[str, Any]]:
    return [e.data for e in record.events if e.kind == "reveal" and "accepted" in e.data]


@metric("cost-ratio", measures=("markets/Screening-v0",))
def cost_ratio(record: EpisodeRecord) -> float:
    """The total cost of the cases, divided by the expected cost of the best policy."""
    game = Screening(**record.options)
    known = game.prior, game.checks, game.evidence
    best = sum(optimal_cost(*known, data["group"], game.words.prices) for data in _cases(record))
    return -record.returns[0] / best if best else 1.0


@metric("missed-share", measures=("markets/Screening-v0",))
def missed_share(record: EpisodeRecord) -> float:
    """The share of good cases that were rejected; 0 if there are none."""
    accepted = [data["accepted"] for data in _cases(record) if data["good"]]
    return 1 - sum(accepted) / len(accepted) if accepted else 0.0


@metric("parity-gap", measures=("markets/Screening-v0",))
def parity_gap(record: EpisodeRecord) -> float:
    """The difference between the groups' shares of accepted cases; 0 if a group has no case."""
    rates: list[float] = []
    for group in range(len(GROUPS)):
        accepted = [data["accepted"] for data in _cases(record) if data["group"] == group]
        if not accepted:
            return 0.0
        rates.append(sum(accepted) / len(accepted))
    return abs(rates[0] - rates[1])
