"""EGAE: advantages by a critic for rollouts that were cut before they ended."""

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
    """Generalised advantages that continue where a rollout was cut off.

    The fact "values" is the critic's value before each turn. After the last turn of a finished
    line the value is 0; of a truncated one it is taken to be what it was before that turn, since
    one more turn changes it little. Fan et al., "Truncated Proximal Policy Optimization" (2025).
    """
    values = group.turn_fact("values")
    table = group.padded(values)
    after = np.pad(table, ((0, 0), (0, 1)))[:, 1:]
    cut = np.flatnonzero(group.truncated[group.episode[group.line_first]])
    last = group.length[cut] - 1
    after[cut, last] = table[cut, last]
    surprise = group.rewards + gamma * group.flat(after) - values
    return group.to_go(surprise, gamma * lam)
