"""A-GRAE: GRPO's advantages made unequal on purpose.

With 0/1 rewards at success rate p over n rollouts, standardised advantages of right and wrong
rollouts weigh the same and their magnitudes sum to 2n·sqrt(p(1-p)), largest at p = 1/2. Two
options break that: one damps right rollouts, the other moves weight between easy and hard tasks.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats, means
from palestra_rewards.estimators.outcome import peer_means
from palestra_rewards.group import Group


@reward(
    "a-grae",
    shape="group",
    paper=(
        "Unveiling Implicit Advantage Symmetry: Why GRPO Struggles with Exploration and "
        "Difficulty Adaptation"
    ),
    onto="grpo",
    check="test_a_grae_defaults_reproduce_grpo",
)
def a_grae(
    group: Group,
    base: Floats,
    *,
    positive: Annotated[float, Meta(gt=0, description="factor of advantages above 0")] = 1.0,
    late: Annotated[
        float | None,
        Meta(gt=0, description="that factor once all succeed; by default it does not change"),
    ] = None,
    lean: Annotated[
        float, Meta(description="how strongly weight moves between easy and hard tasks")
    ] = 0.0,
) -> Floats:
    """Advantages that damp right rollouts and move weight from easy to hard tasks.

    Positive advantages are multiplied by a factor that goes linearly from `positive`, at a batch
    mean return of 0, to `late`, at 1, so that right rollouts can be damped while there is much to
    explore. Tasks are weighted by how easy they are now.

    A task of mean return p in a batch of mean return m has weight exp(lean · (1 - 2m) · (p - m)):
    easy tasks count more while m is under one half, hard ones after. Returns are assumed to be
    from 0 to 1. The schedules are this package's choice; the defaults leave `base` as it is.
    """
    level = means(group.returns, group.side)[group.side]
    rates = peer_means(group.returns, group)
    weights = np.exp(lean * (1 - 2 * level) * (rates - level))
    end = positive if late is None else late
    damped = group.spread(positive + (end - positive) * np.clip(level, 0, 1))
    return np.where(base > 0, damped, 1.0) * base * group.spread(weights)
