"""ADORA: the advantages of a task scaled by whether it is worth learning from now."""

from __future__ import annotations

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Bools, Floats
from palestra_rewards.estimators.outcome import task_means
from palestra_rewards.group import Group


def adora(
    group: Group,
    base: Floats,
    *,
    useful: float = 1.0,
    other: float = 1.0,
    hardest: float = 0.0,
    easiest: float = 0.5,
) -> Floats:
    """Advantages of temporarily advantageous tasks times `useful`, of the rest times `other`.

    A task is advantageous if its right rollouts are longer than its wrong ones on average (in
    tokens, or in turns where tokens were not counted) and the share of right ones is above
    `hardest` and at most `easiest`. Strong text models are amplified (`useful` above 1), weak
    vision models attenuated (`other` under 1); the defaults leave `base` as it is.
    """
    if useful < 0 or other < 0:
        raise InvalidOption(f"weights must not be negative: useful={useful}, other={other}")
    weights = np.where(advantageous(group, hardest, easiest), useful, other)
    return base * group.spread(weights)


def advantageous(group: Group, hardest: float, easiest: float) -> Bools:
    """Whether a line's task passes the length and the difficulty test, one answer a line."""
    assert group.success is not None
    tokens = group.length if group.tokens is None else group.line_sum(group.tokens.astype(float))
    right = group.success >= 1
    rate = task_means(right.astype(np.float64), group)
    wrong_rate = 1 - rate
    lengths = np.asarray(tokens, dtype=np.float64)
    of_right = task_means(lengths * right, group) / np.where(rate > 0, rate, 1)
    of_wrong = task_means(lengths * ~right, group) / np.where(wrong_rate > 0, wrong_rate, 1)
    return np.asarray((of_right > of_wrong) & (rate > hardest) & (rate <= easiest))
