"""StableReinforce: updates that stay bounded where rewards are unbalanced.

Zhang et al., "R1-Reward: Training Multimodal Reward Model Through Stable Reinforcement Learning"
(2025). `judges.reasoning` has its rewards for a judge that reasons.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Annotated

import numpy as np
from palestra import InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats, standardise
from palestra_rewards.group import Group

if TYPE_CHECKING:
    from torch import Tensor


@reward(
    "stable-reinforce",
    shape="group",
    paper=(
        "R1-Reward: Training Multimodal Reward Model Through Stable Reinforcement Learning (2025)"
    ),
    onto="reinforce",
    check="test_outliers_get_no_advantage_and_others_are_standardised",
)
def stable_reinforce(
    group: Group,
    base: Floats,
    *,
    most: Annotated[
        float, Meta(gt=0, description="standard deviations from the mean that are kept")
    ] = 3.0,
) -> Floats:
    """Advantages standardised over the batch; those far from the mean become 0.

    Each seat and agent has statistics of its own, over all tasks of the batch. Where nearly all
    rewards are equal, standardising makes the few others huge; the filter leaves them out of the
    update. Zhang et al., "R1-Reward" (2025).
    """
    scores = standardise(base, group.side[group.line])
    return np.where(np.abs(scores) <= most, scores, 0.0)


def stable_loss(
    now: Tensor,
    then: Tensor,
    advantages: Tensor,
    *,
    lowest: float = 1e-3,
    highest: float = 1e3,
    clip: float = 0.2,
) -> Tensor:
    """PPO's loss with the logarithm of the ratio bounded before it is exponentiated (Pre-CLIP).

    The default bounds are those of the authors' released `PolicyLoss`.

    now, then: log-probabilities of tokens or turns under the policy and when they were sampled.
    A ratio outside [`lowest`, `highest`] is set to the bound and passes no gradient, so that a
    negative advantage cannot make the loss arbitrarily large. Tensors have one shape; the result
    is their mean.
    """
    if not 0 < lowest < 1 < highest:
        raise InvalidOption(f"bounds must lie around 1, not {lowest} and {highest}")
    ratio = (now - then).clamp(log(lowest), log(highest)).exp()
    kept = ratio.clamp(1 - clip, 1 + clip)
    return -(ratio * advantages).minimum(kept * advantages).mean()
