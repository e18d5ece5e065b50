"""CANON: rollouts compared across and within the two halves of a metric."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, Ints, count, ranks
from palestra_rewards.group import Group
from palestra_rewards.needs import NEEDS, Lacking

METRICS = {
    "tokens": "token counts",
    "cost": "costs",
    "seconds": "durations",
    "mistakes": "mistakes",
    "entropy": "log-probs",
}


@reward(
    "canon",
    shape="group",
    paper=(
        "Conditional Advantage Estimation for Reinforcement Learning in Large Reasoning "
        "Models (2025)"
    ),
    check="test_canon_at_one_half_is_the_group_centred_return",
    cost="sort",
)
def canon(
    group: Group,
    *,
    metric: Annotated[
        str,
        Meta(description="turns, tokens, cost, seconds, entropy, mistakes, or the name of a fact"),
    ] = "turns",
    mu: Annotated[
        float, Meta(ge=0, le=1, description="weight of the comparison with the other half")
    ] = 0.5,
) -> Floats:
    """Rollouts compared across and within the two halves of a metric.

    Return minus a mix of the mean returns of the other half and of its own half of the task.

    The task's rollouts are sorted by `metric` ("turns", "tokens", "cost", "seconds", "mistakes",
    "entropy" as mean -logprob, or the name of a fact) and cut at the median. `mu` weighs the
    comparison with the other half, `1 - mu` that with its own. Rollouts that tie across the cut
    belong partly to both halves, so that the halves are of equal size and `mu=0.5` is exactly
    the group-centred return.
    """
    upper = upper_half(_metric(group, metric), group.peers)
    low, high = _half_mean(group, 1 - upper), _half_mean(group, upper)
    own = upper * high + (1 - upper) * low
    other = upper * low + (1 - upper) * high
    return group.spread(group.returns - mu * other - (1 - mu) * own)


def upper_half(values: Floats, ids: Ints) -> Floats:
    """How much of every element belongs to the upper half of its bucket, from 0 to 1."""
    below = ranks(values, ids)
    size = count(ids)[ids]
    ties = _tie_counts(values, ids)
    first = below - (ties - 1) / 2  # place of the first of its ties
    return np.clip((first + ties - size / 2) / ties, 0.0, 1.0)


def _tie_counts(values: Floats, ids: Ints) -> Floats:
    order = np.lexsort((values, ids))
    fresh = np.ones(order.size, dtype=bool)
    fresh[1:] = (np.diff(ids[order]) != 0) | (np.diff(values[order]) != 0)
    runs = np.cumsum(fresh) - 1
    found = np.empty(order.size)
    found[order] = np.bincount(runs)[runs]
    return found


def _half_mean(group: Group, share: Floats) -> Floats:
    ids = group.peers
    total = np.bincount(ids, share * group.returns)
    return (total / np.bincount(ids, share))[ids]


def _metric(group: Group, metric: str) -> Floats:
    if metric == "turns":
        return group.length.astype(np.float64)
    if metric in group.facts:
        return group.line_numbers(metric)
    if metric not in METRICS:
        raise InvalidOption(
            f"metric must be turns, {', '.join(METRICS)} or the name of a fact, not {metric!r}"
        )
    column = group.logprob if metric == "entropy" else getattr(group, metric)
    if column is None:
        need = METRICS[metric]
        raise Lacking(f"canon:metric={metric}", need, NEEDS[need].how)
    if metric == "entropy":
        return -group.line_sum(column) / group.length
    return group.line_sum(column.astype(np.float64))
