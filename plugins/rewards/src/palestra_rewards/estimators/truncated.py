"""EGAE: advantages from a critic for rollouts that were truncated."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.group import Group
from palestra_rewards.options import Discount


@reward(
    "egae",
    shape="group",
    needs=("values",),
    paper="Fan et al. (2025), Truncated Proximal Policy Optimization",
    check="test_egae_is_gae_on_finished_rollouts",
)
def egae(
    group: Group,
    *,
    gamma: Discount = 1.0,
    lam: Annotated[
        float,
        Meta(
            ge=0, le=1, description="weight of longer looks ahead: lambda of generalised advantages"
        ),
    ] = 0.95,
) -> Floats:
    """Generalised advantage estimates that extend to truncated rollouts.

    The fact "values" is the critic's value before each turn. After the last turn of a finished
    line the value is 0; after that of a truncated line it is assumed to equal the value before
    the turn, since one turn changes it little. Fan et al., "Truncated Proximal Policy
    Optimization" (2025).
    """
    values = group.turn_fact("values")
    table = group.padded(values)
    after = np.pad(table, ((0, 0), (0, 1)))[:, 1:]
    cut = np.flatnonzero(group.truncated[group.episode[group.line_first]])
    last = group.length[cut] - 1
    after[cut, last] = table[cut, last]
    surprise = group.rewards + gamma * group.flat(after) - values
    return group.to_go(surprise, gamma * lam)
