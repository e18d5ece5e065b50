"""EGAE: advantages by a critic for rollouts that were cut before they ended."""

from __future__ import annotations

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats
from palestra_rewards.group import Group


def egae(group: Group, *, gamma: float = 1.0, lam: float = 0.95) -> Floats:
    """Generalised advantages; a truncated line goes on from the value it stopped at.

    The fact "values" is the critic's value before each turn. After the last turn of a finished
    line the value is 0; of a truncated one it is taken to be what it was before that turn, since
    one more turn changes it little. Fan et al., "Truncated Proximal Policy Optimization" (2025).
    """
    if not (0 <= gamma <= 1 and 0 <= lam <= 1):
        raise InvalidOption(f"gamma and lam must be from 0 to 1, not {gamma} and {lam}")
    values = group.turn_fact("values")
    table = group.padded(values)
    after = np.pad(table, ((0, 0), (0, 1)))[:, 1:]
    cut = np.flatnonzero(group.truncated[group.episode[group.line_first]])
    last = group.length[cut] - 1
    after[cut, last] = table[cut, last]
    surprise = group.rewards + gamma * group.flat(after) - values
    return group.to_go(surprise, gamma * lam)
