"""GiGPO: compare whole rollouts, and compare turns with turns that faced the same state."""

from __future__ import annotations

from typing import Annotated

from palestra import Meta, reward

from palestra_rewards.arrays import Floats, centre, standardise, together
from palestra_rewards.group import Group
from palestra_rewards.options import Discount, Divide


@reward(
    "gigpo",
    shape="group",
    needs=("state keys",),
    paper="Feng et al. (2025), Group-in-Group Policy Optimization for LLM Agent Training",
    check="test_gigpo_step_part_is_zero_when_all_states_differ",
)
def gigpo(
    group: Group,
    *,
    gamma: Discount = 0.95,
    weight: Annotated[float, Meta(description="weight of the step part")] = 1.0,
    divide: Divide = True,
) -> Floats:
    """Advantage of the episode, plus the advantage among turns that faced the same state.

    Group-standardised return plus `weight` times the step part.

    The step part is discounted reward to go, standardised among the turns of the task at which
    the same seat faced the same state key; a state seen once adds nothing. `divide=False` only
    centres both parts. Feng et al., "Group-in-Group Policy Optimization" (2025).
    """
    normal = standardise if divide else centre
    return group.spread(normal(group.returns, group.peers)) + weight * step_part(
        group, gamma=gamma, divide=divide
    )


def step_part(group: Group, *, gamma: float = 0.95, divide: bool = True) -> Floats:
    """Reward to go, standardised (or only centred) among turns at the same state."""
    assert group.state is not None
    normal = standardise if divide else centre
    return normal(group.to_go(gamma=gamma), together((group.turn_peers, group.seat, group.state)))
