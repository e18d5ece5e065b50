"""A-GRAE: GRPO's advantages made unequal on purpose.

With 0/1 rewards at success rate p over n rollouts, standardised advantages of right and wrong
rollouts weigh the same and together come to 2n·sqrt(p(1-p)), most at one half. Two knobs break
that: one damps right rollouts, the other moves weight between easy and hard tasks.
"""

from __future__ import annotations

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats
from palestra_rewards.estimators.outcome import task_means
from palestra_rewards.group import Group


def a_grae(group: Group, base: Floats, *, positive: float = 1.0, lean: float = 0.0) -> Floats:
    """Positive advantages times `positive`; tasks weighted by how easy they are now.

    A task of mean return p in a batch of mean return m weighs exp(lean · (1 - 2m) · (p - m)):
    easy tasks count more while m is under one half, hard ones after. Returns are taken to lie
    from 0 to 1. The schedules are this package's choice; the defaults leave `base` as it is.
    """
    if positive <= 0:
        raise InvalidOption(f"positive must be above 0, not {positive}")
    level = float(group.returns.mean())
    rates = task_means(group.returns, group)
    weights = np.exp(lean * (1 - 2 * level) * (rates - level))
    return np.where(base > 0, positive, 1.0) * base * group.spread(weights)
