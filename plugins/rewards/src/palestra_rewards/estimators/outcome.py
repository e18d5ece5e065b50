"""One outcome for the whole rollout, handed to every turn: REINFORCE, RLOO, GRPO, Dr. GRPO."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, centred, means, standardised, without_self
from palestra_rewards.group import Group

BASELINES = ("none", "mean")


def reinforce(group: Group, *, gamma: float = 1.0, baseline: str = "none") -> Floats:
    """Discounted reward to go, less its mean over the turns of the task where `baseline` is "mean".

    Williams (1992).
    """
    if baseline not in BASELINES:
        raise InvalidOption(f"baseline must be one of {', '.join(BASELINES)}, not {baseline!r}")
    to_go = group.to_go(gamma=gamma)
    return to_go if baseline == "none" else centred(to_go, group.turn_task)


def rloo(group: Group) -> Floats:
    """Return less the mean return of the other rollouts of the task; 0 for a rollout alone.

    Kool, van Hoof and Welling (2019); Ahmadian et al. (2024). LOOP (Chen et al., 2025) uses the
    same for long interactive episodes.
    """
    return group.spread(group.returns - without_self(group.returns, group.line_task))


def grpo(group: Group, *, ddof: int = 0, epsilon: float = 0.0) -> Floats:
    """`(return - mean) / (spread + epsilon)` over the rollouts of the task (Shao et al., 2024).

    A group without spread gives 0. TRL's numbers are those of `ddof=1, epsilon=1e-4`.
    """
    scores = standardised(group.returns, group.line_task, ddof=ddof, epsilon=epsilon)
    return group.spread(scores)


def dr_grpo(group: Group) -> Floats:
    """Return less the mean of the task, not divided by its spread (Liu et al., 2025).

    The other half of Dr. GRPO, a loss that is not divided by response length, is the trainer's.
    """
    return group.spread(centred(group.returns, group.line_task))


def flow_grpo(
    group: Group, *, planners: Collection[str] = (), ddof: int = 0, epsilon: float = 0.0
) -> Floats:
    """GRPO's one number for every turn, kept on the turns of the roles in `planners`.

    Li et al., "In-the-Flow Agentic System Optimization" (2025): only the planner is trained; the
    turns of other modules get 0. Without `planners` every turn is kept.
    """
    broadcast = grpo(group, ddof=ddof, epsilon=epsilon)
    if not planners:
        return broadcast
    kept = np.array([role in planners for role in group.roles])
    return np.where(kept[group.role], broadcast, 0.0)


def task_means(values: Floats, group: Group) -> Floats:
    """The mean over a line's task, one number a line."""
    return means(values, group.line_task)[group.line_task]
