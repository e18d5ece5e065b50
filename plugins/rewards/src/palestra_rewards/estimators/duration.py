"""Long actions are sampled too rarely by workers that run side by side; weight them up."""

from __future__ import annotations

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.group import Group


def duration(group: Group, base: Floats) -> Floats:
    """Advantages times the turn's duration over the mean duration of all turns.

    Asynchronous workers finish short actions more often; the weight gives equally good actions
    equal expected updates. "Reinforcement Learning for Machine Learning Engineering Agents" (2025).
    """
    assert group.seconds is not None
    return floats(base * group.seconds / group.seconds.mean())
