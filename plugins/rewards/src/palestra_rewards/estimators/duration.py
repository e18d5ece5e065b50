"""Weights that correct a bias: asynchronous workers finish long actions too rarely."""

from __future__ import annotations

import numpy as np
from palestra import reward

from palestra_rewards.arrays import Floats, floats, means
from palestra_rewards.group import Group


@reward(
    "duration",
    shape="group",
    needs=("durations",),
    paper="Reinforcement Learning for Machine Learning Engineering Agents (2025)",
    onto="grpo",
    check="test_equally_good_actions_of_any_length_have_equal_expected_updates",
)
def duration(group: Group, base: Floats) -> Floats:
    """Advantages without the bias of asynchronous workers towards short actions.

    Each is multiplied by the turn's duration divided by the mean duration of the agent's turns.

    Asynchronous workers finish short actions more often; the weight gives equally good actions
    equal expected updates. How long an action runs is the fact "duration" if the environment
    reports it, or else the seconds that the agent took. "Reinforcement Learning for Machine
    Learning Engineering Agents" (2025).
    """
    took = group.turn_fact("duration") if "duration" in group.facts else group.seconds
    assert took is not None
    mean = means(took, group.agent)[group.agent]
    return floats(base * np.divide(took, mean, out=np.ones(group.size), where=mean > 0))
