"""Advantages that know what a rollout spent: HC-GRPO and A²FM's adaptive policy optimisation."""

from __future__ import annotations

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Bools, Floats, Ints, floats, standardised
from palestra_rewards.group import Group


def hc_grpo(group: Group, *, bonus: float = 1.0, price: float = 1.0) -> Floats:
    """GRPO on success times `bonus` less total cost times `price`.

    Cheap successes outrank dear ones. "ESearch-R1".
    """
    assert group.success is not None
    assert group.cost is not None
    score = bonus * group.success - price * group.line_sum(group.cost)
    return group.spread(standardised(score, group.line_task))


def a2fm(group: Group, *, instant: str = "instant", tau: float = 0.5, alpha: float = 1.0) -> Floats:
    """GRPO on success, paid less where a heavier mode solved what the instant one can.

    The fact "mode" says how each rollout ran. A task is easy if its instant rollouts succeed with
    rate p of at least `tau`; then success in any other mode is scaled to 1 - p^alpha.
    "A²FM: An Adaptive Agent Foundation Model" (2025).
    """
    if alpha < 0:
        raise InvalidOption(f"alpha must not be negative, not {alpha}")
    assert group.success is not None
    quick = np.asarray([mode == instant for mode in group.line_fact("mode")])
    rate = _rate(group.success, quick, group.line_task)[group.line_task]
    wasteful = ~quick & (rate >= tau) & (rate > 0)
    score = group.success * np.where(wasteful, 1 - rate**alpha, 1.0)
    return group.spread(standardised(score, group.line_task))


def _rate(success: Floats, chosen: Bools, ids: Ints) -> Floats:
    """Mean success of the chosen lines of every task; 0 where none is chosen."""
    tried = np.bincount(ids, chosen)
    return floats(np.bincount(ids, success * chosen) / np.maximum(tried, 1))
