"""VSPO: tasks that teach nothing are replaced by tasks that do."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, Rng, reward

from palestra_rewards.arrays import Floats, Ints, firsts, means, spreads
from palestra_rewards.group import Group


@reward(
    "vspo",
    shape="group",
    needs=("success",),
    paper=(
        "Enhancing Agentic RL with Progressive Reward Shaping and Value-based Sampling "
        "Policy Optimization"
    ),
    onto="grpo",
    check="test_vspo_replaces_tasks_without_spread",
)
def vspo(
    group: Group,
    base: Floats,
    *,
    blend: Annotated[
        float, Meta(ge=0, le=1, description="weight of the spread of returns against difficulty")
    ] = 0.5,
    smooth: Annotated[float, Meta(ge=0, description="added to every value before dividing")] = 0.1,
    low: Annotated[float, Meta(gt=0, le=1, description="least factor")] = 0.5,
    high: Annotated[float, Meta(ge=1, description="greatest factor")] = 2.0,
) -> Floats:
    """Advantages weighted by how difficult and how uncertain a task is.

    Advantages are multiplied by the task's value over the mean value, smoothed and clipped.

    Values are those of `peer_values`; `smooth` is added to both before dividing, and the factor is
    kept from `low` to `high`. "Progressive Reward Shaping and VSPO".
    """
    value = peer_values(group, blend=blend) + smooth
    side = group.side[firsts(group.peers)]
    typical = means(value, side)[side]
    ratio = np.divide(value, typical, out=np.ones_like(value), where=typical > 0)
    return base * group.spread(np.clip(ratio, low, high)[group.peers])


def peer_values(group: Group, *, blend: float = 0.5) -> Floats:
    """How much can be learnt from each set of peers, from 0 to 1; shape (sets of peers,).

    `4p(1-p)` at success rate p, blended with the spread of returns over the largest such spread.
    """
    assert group.success is not None
    rate = means(group.success, group.peers)
    spread = spreads(group.returns, group.peers)
    side = group.side[firsts(group.peers)]
    largest = np.zeros(int(side.max(initial=-1)) + 1)
    np.maximum.at(largest, side, spread)
    unsure = np.divide(spread, largest[side], out=np.zeros_like(spread), where=largest[side] > 0)
    return (1 - blend) * 4 * rate * (1 - rate) + blend * unsure


def replaced_tasks(group: Group, rng: Rng, *, blend: float = 0.5) -> Ints:
    """For each task, the task to train on instead: itself, or another if its returns are equal.

    Others are drawn with probability proportional to their value, which is the sum over the sets
    of peers (seats and agents that are compared with each other). Returns shape (tasks,).
    """
    spread = spreads(group.returns, group.peers)
    chosen = np.arange(group.task.max(initial=-1) + 1)
    worth = np.where(spread > 0, peer_values(group, blend=blend), 0.0)
    of_peers = group.line_task[firsts(group.peers)]
    bounds = np.cumsum(np.bincount(of_peers, worth, minlength=chosen.size))
    if not bounds.size or bounds[-1] <= 0:
        return chosen
    varied = np.bincount(of_peers, spread > 0, minlength=chosen.size) > 0
    for task in np.flatnonzero(~varied):
        chosen[task] = np.searchsorted(bounds, rng.random() * bounds[-1], side="right")
    return chosen
