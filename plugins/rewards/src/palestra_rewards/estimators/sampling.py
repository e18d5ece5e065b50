"""VSPO: tasks that teach nothing make room for those that do."""

from __future__ import annotations

import numpy as np
from palestra import InvalidOption, Rng

from palestra_rewards.arrays import Floats, Ints, means, spreads
from palestra_rewards.group import Group


def vspo(
    group: Group,
    base: Floats,
    *,
    blend: float = 0.5,
    smooth: float = 0.1,
    low: float = 0.5,
    high: float = 2.0,
) -> Floats:
    """Advantages times the task's value over the mean value, smoothed and clipped.

    Values are those of `task_values`; `smooth` is added to both before dividing, and the factor is
    kept from `low` to `high`. "Progressive Reward Shaping and VSPO".
    """
    if not 0 < low <= 1 <= high:
        raise InvalidOption(f"low and high must hold 1 between them, not {low} and {high}")
    value = task_values(group, blend=blend) + smooth
    typical = value.mean()
    factor = np.clip(value / typical, low, high) if typical > 0 else np.ones_like(value)
    return base * group.spread(factor[group.line_task])


def task_values(group: Group, *, blend: float = 0.5) -> Floats:
    """What each task is worth to learn from, from 0 to 1.

    `4p(1-p)` at success rate p, blended with the spread of returns over the largest such spread.
    """
    assert group.success is not None
    rate = means(group.success, group.line_task)
    spread = spreads(group.returns, group.line_task)
    largest = spread.max(initial=0.0)
    unsure = spread / largest if largest > 0 else spread
    return (1 - blend) * 4 * rate * (1 - rate) + blend * unsure


def replaced_tasks(group: Group, rng: Rng, *, blend: float = 0.5) -> Ints:
    """The task to train on in the place of each: itself, or another if it has no spread.

    Others are drawn with probability in proportion to their value.
    """
    spread = spreads(group.returns, group.line_task)
    chosen = np.arange(spread.size)
    value = np.where(spread > 0, task_values(group, blend=blend), 0.0)
    bounds = np.cumsum(value)
    if not bounds.size or bounds[-1] <= 0:
        return chosen
    for task in np.flatnonzero(spread <= 0):
        chosen[task] = np.searchsorted(bounds, rng.random() * bounds[-1], side="right")
    return chosen
