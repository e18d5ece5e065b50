"""MATPO: the workers a planner calls share the planner's advantage."""

from __future__ import annotations

import numpy as np
from palestra import InvalidOption, reward

from palestra_rewards.arrays import Floats, Ints, standardise
from palestra_rewards.group import Group
from palestra_rewards.options import Ddof, Epsilon


@reward(
    "matpo",
    shape="group",
    needs=("workers",),
    paper="Multi-Agent Tool-Integrated Policy Optimization (2025)",
    check="test_matpo_workers_inherit_their_roots_advantage",
)
def matpo(group: Group, *, ddof: Ddof = 0, epsilon: Epsilon = 0.0) -> Floats:
    """A planner's advantage, shared by every worker that it called.

    Root returns standardised over the roots of a task, given to all turns below the root.

    Only root episodes (parent -1) are scored; workers at any depth inherit the score. Workers may
    be episodes of their own (`palestra_rewards.nested`) or turns of the planner's. Mo et al.,
    "Multi-Agent Tool-Integrated Policy Optimization" (2025).
    """
    root = roots(group)
    top = root == np.arange(group.episodes)
    outcome = group.team_returns
    scores = np.zeros(group.episodes)
    scores[top] = standardise(outcome[top], group.task[top], ddof=ddof, epsilon=epsilon)
    return scores[root][group.episode]


def roots(group: Group) -> Ints:
    """The root of every episode, shape (episodes,)."""
    episodes = np.arange(group.episodes)
    parent = np.full_like(episodes, -1) if group.parent is None else group.parent
    if parent.size and (parent.max() >= group.episodes or parent.min() < -1):
        raise InvalidOption(f"parent must name one of {group.episodes} episodes, or be -1")
    root = np.where(parent < 0, episodes, parent)
    for _ in range(group.episodes.bit_length() + 1):
        root = root[root]
    if (parent[root] >= 0).any():
        raise InvalidOption(
            "parents run in a circle, so some episodes have no root; a root has parent -1"
        )
    return root
