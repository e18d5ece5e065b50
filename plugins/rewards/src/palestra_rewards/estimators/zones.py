"""SSL: zones of progress instead of a binary reward."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from palestra import InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, standardise
from palestra_rewards.group import Group

ROUNDING = 1e-9


@reward(
    "ssl",
    shape="group",
    needs=("progress",),
    paper=("SSL: Sweet Spot Learning for Differentiated Guidance in Agentic Optimization"),
    check="test_one_zone_is_the_binary_reward",
)
def ssl(
    group: Group, *, zones: Annotated[int, Meta(ge=1, description="how many zones")] = 4
) -> Floats:
    """GRPO on the zone that each rollout's progress falls into.

    The fact "progress", from 0 to 1, is rounded down to one of `zones` levels.

    It replaces a binary reward; the paper found four zones best. "SSL: Sweet Spot Learning".
    """
    score = zone(group.line_numbers("progress"), zones)
    return group.spread(standardise(score, group.peers))


def zone(progress: Any, zones: int = 4) -> Floats:
    """Progress from 0 to 1 rounded down to multiples of 1/zones; one zone is the binary reward."""
    if zones < 1:
        raise InvalidOption(f"zones must be at least 1, not {zones}")
    value = np.asarray(progress, dtype=np.float64)
    if not np.all((value >= 0) & (value <= 1)):
        raise InvalidOption("progress must be from 0 to 1")
    return np.floor(value * zones + ROUNDING) / zones


def nearness(distance: Any, radius: float) -> Floats:
    """Progress of a position by its distance: `exp(-distance² / (2 radius²))`, 1 at the goal."""
    if radius <= 0:
        raise InvalidOption(f"radius must be above 0, not {radius}")
    away = np.asarray(distance, dtype=np.float64) / radius
    return np.exp(-(away**2) / 2)
