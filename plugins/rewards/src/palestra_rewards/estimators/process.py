"""Process rewards from rollouts alone: Q targets, implicit rewards, and what words cost."""

from __future__ import annotations

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, centred, means, standardised, together
from palestra_rewards.estimators.tree import prefix_tree
from palestra_rewards.group import Group


def agentprm(group: Group, *, gamma: float = 1.0) -> Floats:
    """Q target of each turn: mean discounted reward to go where history and action are equal.

    What a process reward model is fitted to, rather than an advantage. Choudhury, "Process Reward
    Models for LLM Agents" (2025).
    """
    node = together((prefix_tree(group).after, group.seat))
    return means(group.to_go(gamma=gamma), node)[node]


def inverse_prm(group: Group, *, gamma: float = 1.0) -> Floats:
    """Reward that a Q function implies: `Q(s, a) - gamma * Q(s', a')`, Q being the fact "values".

    After a line's last turn Q is 0. Choudhury (2025), InversePRM.
    """
    values = group.turn_fact("values")
    table = group.padded(values)
    after = np.pad(table, ((0, 0), (0, 1)))[:, 1:]
    return values - gamma * group.flat(after)


def oprl(group: Group, *, alpha: float = 1.0, divide: bool = True) -> Floats:
    """Group-standardised return plus `alpha` times group-standardised implicit step rewards.

    The fact "implicit" is `beta * log(pi_phi / pi_old)` of each turn, pi_phi trained on pairs of
    rollouts by which won. "Online Process Reward Learning for Agentic RL" (2025).
    """
    normal = standardised if divide else centred
    outcome = normal(group.returns, group.line_task)
    return group.spread(outcome) + alpha * normal(group.turn_fact("implicit"), group.turn_task)


def optima(group: Group, *, price: float = 0.5, ddof: int = 0, epsilon: float = 0.0) -> Floats:
    """GRPO on return less `price` times tokens over those of the task's longest rollout.

    Readability, where it is scored, is part of the return. "Optima" (2024).
    """
    if price < 0:
        raise InvalidOption(f"price must not be negative, not {price}")
    assert group.tokens is not None
    tokens = group.line_sum(group.tokens.astype(np.float64))
    longest = np.zeros(int(group.line_task.max(initial=-1)) + 1)
    np.maximum.at(longest, group.line_task, tokens)
    share = tokens / np.maximum(longest, 1)[group.line_task]
    score = group.returns - price * share
    return group.spread(standardised(score, group.line_task, ddof=ddof, epsilon=epsilon))
