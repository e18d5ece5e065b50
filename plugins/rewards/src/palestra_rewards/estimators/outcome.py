"""One outcome for the whole rollout, given to every turn: REINFORCE, RLOO, GRPO, Dr. GRPO."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Literal

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats, centre, means, standardise, without_self
from palestra_rewards.group import Group
from palestra_rewards.options import Ddof, Discount, Epsilon


@reward(
    "reinforce",
    shape="group",
    paper="Williams (1992), Simple statistical gradient-following algorithms",
    check="test_reinforce_is_the_discounted_reward_to_go",
)
def reinforce(
    group: Group,
    *,
    gamma: Discount = 1.0,
    baseline: Annotated[Literal["none", "mean"], Meta(description="what is taken off")] = "none",
) -> Floats:
    """Reward to go, with or without the mean of the task as a baseline.

    With `baseline="mean"`, the mean is that of all turns of the task which the same agent took on
    the same seat. Williams (1992).
    """
    to_go = group.to_go(gamma=gamma)
    return to_go if baseline == "none" else centre(to_go, group.turn_peers)


@reward(
    "rloo",
    shape="group",
    paper="Ahmadian et al. (2024), Back to Basics: Revisiting REINFORCE Style Optimization",
    check="test_rloo_equals_trl",
)
@reward(
    "loop",
    shape="group",
    paper="Chen et al. (2025), Reinforcement Learning for Long-Horizon Interactive LLM Agents",
    summary="RLOO's advantage, as used for long interactive episodes.",
    check="test_rloo_equals_trl",
)
def rloo(group: Group) -> Floats:
    """Return minus the mean return of the task's other rollouts; 0 if there are none.

    Kool, van Hoof and Welling (2019); Ahmadian et al. (2024). LOOP (Chen et al., 2025) uses the
    same for long interactive episodes.
    """
    return group.spread(group.returns - without_self(group.returns, group.peers))


@reward(
    "grpo",
    shape="group",
    paper="Shao et al. (2024), DeepSeekMath",
    check="test_grpo_equals_trl",
)
def grpo(group: Group, *, ddof: Ddof = 0, epsilon: Epsilon = 0.0) -> Floats:
    """Return standardised over the rollouts of the task.

    `(return - mean) / (spread + epsilon)`, over lines of the same seat and agent (Shao et al.,
    2024). A task without spread gives 0. TRL's numbers are those of `ddof=1, epsilon=1e-4`.
    """
    scores = standardise(group.returns, group.peers, ddof=ddof, epsilon=epsilon)
    return group.spread(scores)


@reward(
    "dr-grpo",
    shape="group",
    paper="Liu et al. (2025), Understanding R1-Zero-Like Training",
    check="test_dr_grpo_is_grpo_times_the_spread",
)
def dr_grpo(group: Group) -> Floats:
    """Return minus the mean of the task, not divided by the standard deviation.

    The other half of Dr. GRPO, a loss not divided by response length, is left to the trainer.
    """
    return group.spread(centre(group.returns, group.peers))


@reward(
    "flow-grpo",
    shape="group",
    paper="Li et al. (2025), In-the-Flow Agentic System Optimization",
    check="test_flow_grpo_trains_the_planner_only",
)
def flow_grpo(
    group: Group,
    *,
    planners: Annotated[
        Collection[str], Meta(description="roles whose turns are kept; all by default")
    ] = (),
    ddof: Ddof = 0,
    epsilon: Epsilon = 0.0,
) -> Floats:
    """One outcome for all turns of the planner; the turns of other modules get 0.

    GRPO's advantage of the rollout, kept on the turns of the roles in `planners`.

    Li et al., "In-the-Flow Agentic System Optimization" (2025), where only the planner is trained.
    Without `planners` every turn keeps its advantage.
    """
    broadcast = grpo(group, ddof=ddof, epsilon=epsilon)
    if not planners:
        return broadcast
    kept = np.array([role in planners for role in group.roles])
    return np.where(kept[group.role], broadcast, 0.0)


def peer_means(values: Floats, group: Group) -> Floats:
    """For each line, the mean over it and its peers, shape (lines,)."""
    return means(values, group.peers)[group.peers]
