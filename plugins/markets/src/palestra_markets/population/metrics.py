"""Metrics for a town in an epidemic."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra import EpisodeRecord, metric


def _weeks(record: EpisodeRecord) -> list[dict[str, Any]]:
    return [event.data for event in record.events if event.kind == "reveal"]


@metric(
    "attack-rate",
    measures=("markets/Population-v0",),
    bounds=(0.0, 1.0),
    better="lower",
)
def attack_rate(record: EpisodeRecord) -> float:
    """The share of all people who caught the illness, including those ill at the start."""
    weeks = _weeks(record)
    if not weeks:
        return 0.0
    counts = weeks[-1]["counts"]
    return float(1 - counts[0] / sum(counts))


@metric(
    "mean-unemployment",
    measures=("markets/Population-v0",),
    bounds=(0.0, 1.0),
    better="lower",
)
def mean_unemployment(record: EpisodeRecord) -> float:
    """The share of all adults without a job, averaged over all weeks."""
    return float(np.mean([week["unemployment"] for week in _weeks(record)] or [0.0]))


@metric(
    "peak-infectious",
    measures=("markets/Population-v0",),
    bounds=(0.0, 1.0),
    better="lower",
)
def peak_infectious(record: EpisodeRecord) -> float:
    """The largest share of all people who were infectious at the end of a week."""
    return max((week["counts"][2] / sum(week["counts"]) for week in _weeks(record)), default=0.0)
