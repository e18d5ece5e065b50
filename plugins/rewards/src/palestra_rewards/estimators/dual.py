"""MatchTIR's two levels: the rollout's outcome, and the process reward to go of each turn."""

from __future__ import annotations

from typing import Annotated

from palestra import Meta, reward

from palestra_rewards.arrays import Floats, standardise
from palestra_rewards.group import Group
from palestra_rewards.options import Discount


@reward(
    "dual-level",
    shape="group",
    needs=("process rewards",),
    paper=(
        "MatchTIR: Fine-Grained Supervision for Tool-Integrated Reasoning via Bipartite Matching"
    ),
    check="test_dual_level_without_process_rewards_is_grpo",
)
def dual_level(
    group: Group,
    *,
    gamma: Discount = 0.9,
    weight: Annotated[float, Meta(description="weight of the process part")] = 1.0,
) -> Floats:
    """Outcome of the rollout plus process reward to go of the turn.

    Group-standardised return plus `weight` times group-standardised process reward to go.

    The fact "process" is one reward per turn, such as the episode shaper `matchtir` computes by
    matching calls with a reference trace. "MatchTIR".
    """
    outcome = group.spread(standardise(group.returns, group.peers))
    process = group.to_go(group.turn_fact("process"), gamma)
    return outcome + weight * standardise(process, group.turn_peers)
