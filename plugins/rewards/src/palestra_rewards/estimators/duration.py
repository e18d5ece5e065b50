"""Weights that correct a bias: asynchronous workers finish long actions too rarely."""

from __future__ import annotations

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
    equal expected updates. "Reinforcement Learning for Machine Learning Engineering Agents" (2025).
    """
    assert group.seconds is not None
    return floats(base * group.seconds / means(group.seconds, group.agent)[group.agent])
