"""SALT: steps that several rollouts share get the mean of their advantages."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats, Ints, means, together
from palestra_rewards.group import Group


@reward(
    "salt",
    shape="group",
    needs=("state keys", "actions"),
    paper=(
        "SALT: Step-level Advantage Assignment for Long-horizon Agents via Trajectory Graph (2025)"
    ),
    onto="grpo",
    check="test_salt_conserves_the_sum_and_zeroes_a_shared_prefix",
)
def salt(
    group: Group,
    base: Floats,
    *,
    history: Annotated[int, Meta(ge=0, description="preceding edges that must be equal too")] = 1,
) -> Floats:
    """Steps that rollouts have in common share the mean of their advantages.

    Equal edges of a task's rollouts are merged and get the mean of their advantages.

    An edge is a state and the action played there; two are equal if the `history` edges before
    them are as well. The sum over the group does not change. "SALT" (2025).
    """
    return means(base, ids := edges(group, history))[ids]


def edges(group: Group, history: int) -> Ints:
    """A number for every turn, equal for merged edges."""
    assert group.state is not None
    assert group.action is not None
    edge = together((group.turn_peers, group.seat, group.state, group.action))
    for _ in range(min(history, group.size)):  # no line is longer
        edge = together((edge, previous(group, edge)))
    return edge


def previous(group: Group, values: Ints) -> Ints:
    """The value at the line's previous turn, plus 1; 0 at the first turn of a line."""
    order = np.lexsort((group.ordinal, group.line))
    before = np.zeros(group.size, dtype=np.int64)
    before[order[1:]] = values[order[:-1]] + 1
    before[group.line_first] = 0
    return before
