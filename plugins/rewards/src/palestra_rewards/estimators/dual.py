"""MatchTIR's two levels: how the rollout did, and how its turns did from here on."""

from __future__ import annotations

from palestra_rewards.arrays import Floats, standardised
from palestra_rewards.group import Group


def dual_level(group: Group, *, gamma: float = 0.9, weight: float = 1.0) -> Floats:
    """Group-standardised return plus `weight` times group-standardised process reward to go.

    The fact "process" is one reward a turn, as the episode shaper `matchtir` gives it by matching
    calls with a reference trace. "MatchTIR".
    """
    outcome = group.spread(standardised(group.returns, group.line_task))
    process = group.to_go(group.turn_fact("process"), gamma)
    return outcome + weight * standardised(process, group.turn_task)
