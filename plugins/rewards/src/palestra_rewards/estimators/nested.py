"""MATPO: the workers a planner calls share the planner's advantage."""

from __future__ import annotations

import numpy as np
from palestra import InvalidOption, reward

from palestra_rewards.arrays import Floats, Ints, standardised
from palestra_rewards.group import Group
from palestra_rewards.options import Ddof, Epsilon


@reward(
    "matpo",
    shape="group",
    needs=("parents",),
    paper="Multi-Agent Tool-Integrated Policy Optimization (2025)",
    check="test_matpo_workers_inherit_their_roots_advantage",
)
def matpo(group: Group, *, ddof: Ddof = 0, epsilon: Epsilon = 0.0) -> Floats:
    """A planner's advantage, shared by every worker that it called.

    Root returns standardised over the roots of a task, given to all turns below the root.

    Only root episodes (parent -1) are scored; workers at any depth inherit the score. Mo et al.,
    "Multi-Agent Tool-Integrated Policy Optimization" (2025).
    """
    root = roots(group)
    top = root == np.arange(group.episodes)
    outcome = np.zeros(group.episodes)
    episode = group.episode[group.line_first]
    np.divide(
        np.bincount(episode, group.returns, minlength=group.episodes),
        np.maximum(np.bincount(episode, minlength=group.episodes), 1),
        out=outcome,
    )
    scores = np.zeros(group.episodes)
    scores[top] = standardised(outcome[top], group.task[top], ddof=ddof, epsilon=epsilon)
    return scores[root][group.episode]


def roots(group: Group) -> Ints:
    """The root of every episode, shape (episodes,)."""
    assert group.parent is not None
    episodes = np.arange(group.episodes)
    if group.parent.size and (group.parent.max() >= group.episodes or group.parent.min() < -1):
        raise InvalidOption(f"parent must name one of {group.episodes} episodes, or be -1")
    root = np.where(group.parent < 0, episodes, group.parent)
    for _ in range(group.episodes.bit_length() + 1):
        root = root[root]
    if (group.parent[root] >= 0).any():
        raise InvalidOption(
            "parents run in a circle, so some episodes have no root; a root has parent -1"
        )
    return root
