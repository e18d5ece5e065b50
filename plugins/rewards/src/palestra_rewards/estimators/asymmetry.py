"""A-GRAE: GRPO's advantages made unequal on purpose.

With 0/1 rewards at success rate p over n rollouts, standardised advantages of right and wrong
rollouts weigh the same and together come to 2n·sqrt(p(1-p)), most at one half. Two knobs break
that: one damps right rollouts, the other moves weight between easy and hard tasks.
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
    paper="Unveiling Implicit Advantage Symmetry",
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
        Meta(gt=0, description="the same once all succeed; by default it does not change"),
    ] = None,
    lean: Annotated[
        float, Meta(description="how strongly weight moves between easy and hard tasks")
    ] = 0.0,
) -> Floats:
    """Advantages that damp right rollouts and move weight from easy to hard tasks.

    Positive advantages times a factor that goes evenly from `positive`, at a mean return of the
    batch of 0, to `late`, at 1: right rollouts are damped while there is much to explore. Tasks are
    weighted by how easy they are now.

    A task of mean return p in a batch of mean return m weighs exp(lean · (1 - 2m) · (p - m)):
    easy tasks count more while m is under one half, hard ones after. Returns are taken to lie
    from 0 to 1. The schedules are this package's choice; the defaults leave `base` as it is.
    """
    level = means(group.returns, group.side)[group.side]
    rates = peer_means(group.returns, group)
    weights = np.exp(lean * (1 - 2 * level) * (rates - level))
    end = positive if late is None else late
    damped = group.spread(positive + (end - positive) * np.clip(level, 0, 1))
    return np.where(base > 0, damped, 1.0) * base * group.spread(weights)
