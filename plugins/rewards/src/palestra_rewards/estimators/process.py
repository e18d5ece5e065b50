"""Process rewards from rollouts alone: Q targets, implicit rewards, and a price for tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from palestra import Meta, reward

from palestra_rewards.arrays import Floats, centre, floats, means, standardise, together
from palestra_rewards.estimators.tree import prefix_tree
from palestra_rewards.group import Group
from palestra_rewards.learnt.features import ACTION, STATE
from palestra_rewards.learnt.implicit import ImplicitPrm, PrmSettings, keyed_ratios, load_models
from palestra_rewards.learnt.networks import Hidden, Rate, Seed, Steps
from palestra_rewards.needs import Lacking
from palestra_rewards.options import Ddof, Discount, Divide, Epsilon

LEAST_LOSS = 1e-3  # nats: smallest loss that readability is divided by


@reward(
    "agentprm",
    shape="group",
    needs=("state keys", "actions"),
    paper=(
        "Choudhury (2025), Process Reward Models for LLM Agents: Practical Framework and Directions"
    ),
    check="test_agentprm_targets_are_means_over_like_histories",
    cost="tree",
)
def agentprm(group: Group, *, gamma: Discount = 1.0) -> Floats:
    """Q target of each turn: mean discounted reward to go where history and action are equal.

    This is the target of a process reward model rather than an advantage. Choudhury, "Process
    Reward Models for LLM Agents" (2025).
    """
    node = together((prefix_tree(group).after, group.turn_seating))
    return means(group.to_go(gamma=gamma), node)[node]


@reward(
    "inverse-prm",
    shape="group",
    needs=("values",),
    paper=(
        "Choudhury (2025), Process Reward Models for LLM Agents: Practical Framework and Directions"
    ),
    check="test_rewards_implied_by_the_true_q_are_the_rewards",
)
def inverse_prm(group: Group, *, gamma: Discount = 1.0) -> Floats:
    """The reward that a Q function implies.

    The reward is `Q(s, a) - gamma * Q(s', a')`, where Q is the fact "values".

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
    paper=("Online Process Reward Learning for Agentic Reinforcement Learning (2025)"),
    check="test_the_implicit_model_fits_the_odds_of_winning",
    cost="gradient steps of a small network",
)
class Oprl:
    """Outcome advantage plus the advantage of implicit step rewards, learnt from the rollouts.

    Group-standardised return plus `alpha` times group-standardised implicit step rewards.

    The reward of a turn is `beta * log(pi_phi / pi_old)`. pi_phi is a policy over the actions that
    were seen, trained at each call on pairs of rollouts of one task; the loss is `-log sigmoid` of
    the better rollout's sum of rewards minus the worse one's. pi_old is given by the rollouts'
    log-probs, or else is a policy fitted to what was played. By default pi_phi is a table over
    keys, fitted from scratch at each call; with `features` ("words", "observation" or a
    "module:function") it is a small network that keeps learning from call to call. To use a
    language model instead, put its rewards into the fact "implicit"; nothing is then trained here.
    "Online Process Reward Learning for Agentic RL" (2025).
    """

    def __init__(
        self,
        *,
        alpha: Annotated[float, Meta(description="weight of the implicit step rewards")] = 1.0,
        divide: Divide = True,
        beta: Annotated[
            float, Meta(gt=0, description="factor of the log-ratio of the two policies")
        ] = 0.05,
        features: Annotated[
            str, Meta(description="what networks see: words, observation, a function's; or keys")
        ] = "",
        hidden: Hidden = 32,
        steps: Steps = 50,
        rate: Rate = 0.05,
        seed: Seed = 0,
    ) -> None:
        self.alpha, self.divide, self.features = alpha, divide, features
        self.settings = PrmSettings(beta, hidden, steps, rate, seed)
        self.models: dict[str, ImplicitPrm] = {}

    def __call__(self, group: Group) -> Floats:
        normal = standardise if self.divide else centre
        outcome = group.spread(normal(group.returns, group.peers))
        return outcome + self.alpha * normal(self.step_rewards(group), group.turn_peers)

    def step_rewards(self, group: Group) -> Floats:
        """The implicit reward of every turn, after training on these rollouts."""
        if "implicit" in group.facts:
            return group.turn_fact("implicit")
        if STATE not in group.facts:
            return keyed_ratios(group, self.settings)
        state, action = floats(group.facts[STATE]), floats(group.facts[ACTION])
        paid = np.zeros(group.size)
        for seating in range(int(group.turn_seating.max(initial=-1)) + 1):
            turns = np.flatnonzero(group.turn_seating == seating)
            name = f"{group.seat[turns[0]]} {group.agents[group.agent[turns[0]]]}".strip()
            model = self.models.setdefault(name, ImplicitPrm(self.settings))
            paid[turns] = model.ratios(group, state, action, turns)
        return paid

    def state(self) -> dict[str, Any]:
        return {"models": {name: model.state() for name, model in self.models.items()}}

    def load(self, state: Mapping[str, Any]) -> None:
        self.models = load_models(state["models"], self.settings)


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
    readability: Annotated[
        float, Meta(ge=0, description="reward, divided by a reference language model's loss")
    ] = 0.0,
    ddof: Ddof = 0,
    epsilon: Epsilon = 0.0,
) -> Floats:
    """GRPO on return minus a price for tokens, plus a reward for readable messages.

    The score is `return - price * tokens / tokens of the task's longest rollout + readability /
    loss`. The loss, in nats, is a reference language model's on the messages: the fact "reading
    loss", one number per line, from `readability.reading_losses`. It does not count by default. For
    the paper's turn tree and its pairs for DPO see `turn_trees.turn_tree`. Chen et al., "Optima"
    (2024).
    """
    assert group.tokens is not None
    tokens = group.line_sum(group.tokens.astype(np.float64))
    longest = np.zeros(int(group.peers.max(initial=-1)) + 1)
    np.maximum.at(longest, group.peers, tokens)
    score = group.returns - price * tokens / np.maximum(longest, 1)[group.peers]
    if readability:
        score = score + readability / np.maximum(_losses(group), LEAST_LOSS)
    return group.spread(standardise(score, group.peers, ddof=ddof, epsilon=epsilon))


def _losses(group: Group) -> Floats:
    if "reading loss" not in group.facts:
        raise Lacking(
            "optima:readability",
            "the fact 'reading loss'",
            "pass group.with_facts(**{'reading loss': reading_losses(records, NGrams(texts))})",
        )
    return group.line_numbers("reading loss")
