"""SPAE: how confident and how correct the policy is after each turn."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from palestra import EpisodeRecord, Meta, reward

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import lines_of, tag_of
from palestra_rewards.options import Weight


@reward(
    "spae",
    shape="episode",
    needs=("probes",),
    paper=(
        "Step Potential Advantage Estimation: Harnessing Intermediate Confidence and "
        "Correctness for Efficient Mathematical Reasoning"
    ),
    check="test_the_rises_of_spae_telescope",
)
def spae(
    record: EpisodeRecord,
    *,
    rule: Annotated[
        Literal["product", "mean", "correctness"],
        Meta(description="how confidence and correctness form the potential"),
    ] = "product",
    weight: Weight = 1.0,
    saturated: Annotated[
        float, Meta(ge=0, le=1, description="potential at which it counts as saturated")
    ] = 0.95,
    tax: Annotated[float, Meta(ge=0, description="tax on each turn after saturation")] = 0.05,
) -> Floats:
    """Rises of confidence and correctness, minus a tax once they are saturated.

    `weight` times the rise of the potential, minus a tax that grows once it has saturated.

    The tags "confidence" and "correctness" hold a probe's result after each turn, from 0 to 1. The
    potential is their "product", their "mean", or "correctness" alone, and starts at 0. The n-th
    turn after the potential first reaches `saturated` costs n times `tax`, so that stopping early
    pays. "Step Potential Advantage Estimation".
    """
    sure = floats(tag_of(record, "confidence", "spae", "probes"))
    right = floats(tag_of(record, "correctness", "spae", "probes"))
    potential = {"product": sure * right, "mean": (sure + right) / 2, "correctness": right}[rule]
    paid = np.empty(potential.size)
    for turns in lines_of(record):
        paid[turns] = weight * rises(potential[turns]) - tax * overtime(potential[turns], saturated)
    return paid


def rises(potential: Floats) -> Floats:
    """What each turn added to the potential, which starts at 0; sums to the last potential."""
    return np.diff(potential, prepend=0.0)


def overtime(potential: Floats, saturated: float) -> Floats:
    """Number of turns since the potential first saturated; 0 until then."""
    reached = np.flatnonzero(potential >= saturated)
    start = reached[0] if reached.size else potential.size
    return np.maximum(np.arange(potential.size) - start, 0).astype(np.float64)
