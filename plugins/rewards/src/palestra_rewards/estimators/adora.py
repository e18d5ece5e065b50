"""ADORA: the advantages of a task scaled by whether it is worth learning from now."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Bools, Floats
from palestra_rewards.estimators.outcome import peer_means
from palestra_rewards.group import Group


@reward(
    "adora",
    shape="group",
    needs=("success",),
    paper=(
        "ADORA: Training Reasoning Models with Dynamic Advantage Estimation on "
        "Reinforcement Learning"
    ),
    onto="grpo",
    check="test_adora_weight_one_leaves_any_estimator_untouched",
)
def adora(
    group: Group,
    base: Floats,
    *,
    useful: Annotated[
        float, Meta(ge=0, description="weight of tasks that are worth learning from now")
    ] = 1.0,
    other: Annotated[float, Meta(ge=0, description="weight of all other tasks")] = 1.0,
    hardest: Annotated[
        float, Meta(ge=0, le=1, description="success rate above which a task is not too hard")
    ] = 0.0,
    easiest: Annotated[
        float, Meta(ge=0, le=1, description="highest success rate of a task that is not too easy")
    ] = 0.5,
) -> Floats:
    """Advantages scaled by whether a task is worth learning from now.

    Advantages of temporarily advantageous tasks are multiplied by `useful`, others by `other`.

    A task is advantageous if its correct rollouts are on average longer than its wrong ones (in
    tokens, or in turns where tokens were not counted) and its success rate is above `hardest`
    and at most `easiest`. Strong text models are amplified (`useful` above 1), weak
    vision models attenuated (`other` under 1); the defaults leave `base` as it is.
    """
    weights = np.where(advantageous(group, hardest, easiest), useful, other)
    return base * group.spread(weights)


def advantageous(group: Group, hardest: float, easiest: float) -> Bools:
    """Whether each line's task passes the length and the difficulty test, shape (lines,)."""
    assert group.success is not None
    tokens = group.length if group.tokens is None else group.line_sum(group.tokens.astype(float))
    right = group.success >= 1
    rate = peer_means(right.astype(np.float64), group)
    wrong_rate = 1 - rate
    lengths = np.asarray(tokens, dtype=np.float64)
    of_right = peer_means(lengths * right, group) / np.where(rate > 0, rate, 1)
    of_wrong = peer_means(lengths * ~right, group) / np.where(wrong_rate > 0, wrong_rate, 1)
    return np.asarray((of_right > of_wrong) & (rate > hardest) & (rate <= easiest))
