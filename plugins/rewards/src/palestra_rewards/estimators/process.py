"""Process rewards from rollouts alone: Q targets, implicit rewards, and what words cost."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats, centred, means, standardised, together
from palestra_rewards.estimators.tree import prefix_tree
from palestra_rewards.group import Group
from palestra_rewards.options import Ddof, Discount, Divide, Epsilon


@reward(
    "agentprm",
    shape="group",
    needs=("state keys", "actions"),
    paper="Choudhury (2025), Process Reward Models for LLM Agents",
    check="test_agentprm_targets_are_means_over_like_histories",
    cost="tree",
)
def agentprm(group: Group, *, gamma: Discount = 1.0) -> Floats:
    """Q target of each turn: mean discounted reward to go where history and action are equal.

    What a process reward model is fitted to, rather than an advantage. Choudhury, "Process Reward
    Models for LLM Agents" (2025).
    """
    node = together((prefix_tree(group).after, group.turn_seating))
    return means(group.to_go(gamma=gamma), node)[node]


@reward(
    "inverse-prm",
    shape="group",
    needs=("values",),
    paper="Choudhury (2025), Process Reward Models for LLM Agents",
    check="test_rewards_implied_by_the_true_q_are_the_rewards",
)
def inverse_prm(group: Group, *, gamma: Discount = 1.0) -> Floats:
    """The reward that a Q function implies.

    Reward that a Q function implies: `Q(s, a) - gamma * Q(s', a')`, Q being the fact "values".

    After a line's last turn Q is 0. Choudhury (2025), InversePRM.
    """
    values = group.turn_fact("values")
    table = group.padded(values)
    after = np.pad(table, ((0, 0), (0, 1)))[:, 1:]
    return values - gamma * group.flat(after)


@reward(
    "oprl",
    shape="group",
    needs=("implicit rewards",),
    paper="Online Process Reward Learning for Agentic RL (2025)",
    check="test_oprl_without_steps_is_grpo",
)
def oprl(
    group: Group,
    *,
    alpha: Annotated[float, Meta(description="weight of the implicit step rewards")] = 1.0,
    divide: Divide = True,
) -> Floats:
    """Outcome advantage plus the advantage of implicit step rewards.

    Group-standardised return plus `alpha` times group-standardised implicit step rewards.

    The fact "implicit" is `beta * log(pi_phi / pi_old)` of each turn, pi_phi trained on pairs of
    rollouts by which won. "Online Process Reward Learning for Agentic RL" (2025).
    """
    normal = standardised if divide else centred
    outcome = normal(group.returns, group.peers)
    return group.spread(outcome) + alpha * normal(group.turn_fact("implicit"), group.turn_peers)


@reward(
    "optima",
    shape="group",
    needs=("token counts",),
    paper="Optima: Effectiveness and Efficiency for LLM-Based Multi-Agent System (2024)",
    check="test_optima_without_a_price_orders_by_return",
)
def optima(
    group: Group,
    *,
    price: Annotated[
        float, Meta(ge=0, description="taken off for as many tokens as the longest rollout took")
    ] = 0.5,
    ddof: Ddof = 0,
    epsilon: Epsilon = 0.0,
) -> Floats:
    """GRPO on return less `price` times tokens over those of the task's longest rollout.

    Readability, where it is scored, is part of the return. "Optima" (2024).
    """
    assert group.tokens is not None
    tokens = group.line_sum(group.tokens.astype(np.float64))
    longest = np.zeros(int(group.peers.max(initial=-1)) + 1)
    np.maximum.at(longest, group.peers, tokens)
    share = tokens / np.maximum(longest, 1)[group.peers]
    score = group.returns - price * share
    return group.spread(standardised(score, group.peers, ddof=ddof, epsilon=epsilon))
