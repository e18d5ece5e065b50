"""Rewards and costs inferred from demonstrations."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.tabular.mdp import Mdp


def constraint_costs(
    mdp: Mdp,
    rewards: Any,
    features: Any,
    expert: Any,
    *,
    temperature: float = 0.1,
    most: float = 10.0,
) -> Floats:
    """Find weights, from 0 to `most`, of features that an expert avoids while it earns `rewards`.

    `features` have shape (states, actions, n), `expert` its discounted visits of (states, actions).
    The weights solve the dual of maximal causal entropy: a soft-optimal agent that pays these
    costs meets each feature as often as the expert, or less where the weight is 0;
    `features @ weights` is the cost. "Maximum Causal Entropy Inverse Constrained Reinforcement
    Learning" (2023).
    """
    from scipy.optimize import minimize

    paid, seen, table = floats(rewards), floats(expert), floats(features)
    if table.ndim != 3 or not paid.shape == seen.shape == table.shape[:2] == mdp.open.shape:
        raise InvalidOption(
            f"rewards and expert must have shape {mdp.open.shape}, and features "
            f"{(*mdp.open.shape, 'n')}"
        )
    wanted = np.einsum("sa,san->n", seen, table)

    def dual(weights: Floats) -> tuple[float, Floats]:
        policy, values = mdp.soft(paid - table @ weights, temperature)
        met = np.einsum("sa,san->n", mdp.visits(policy), table)
        return float(mdp.start @ values + weights @ wanted), wanted - met

    start = np.zeros(wanted.size)
    found = minimize(dual, start, jac=True, bounds=[(0, most)] * start.size, tol=1e-10)
    return floats(found.x)


def learnt_rewards(mdp: Mdp, expert: Any, *, keep: float = 1.0) -> Floats:
    """The rewards that demonstrations imply, of shape (states, actions): `Q(s, a) - gamma E V(s')`.

    `expert` holds visits of shape (states, actions), such as `mdp.counts`. The other seats are part
    of the environment, so Q averages over what they did. Q is fitted by the inverse soft-Q
    objective with a chi-squared penalty of weight `1 / (4 keep)` on rewards, and V is its
    log-sum-exp. "Multi-Agent Inverse Q-Learning from Demonstrations" (2025), MAMQL.
    """
    from scipy.optimize import minimize

    weight = floats(expert)
    if weight.shape != mdp.open.shape or not weight.sum() > 0 or keep <= 0:
        raise InvalidOption(
            f"expert must have shape {mdp.open.shape} and a sum above 0, and keep be > 0"
        )
    weight = weight / weight.sum()
    at = weight.sum(axis=1)

    def loss(flat: Floats) -> tuple[float, Floats]:
        quality = np.where(mdp.open, flat.reshape(weight.shape), -np.inf)
        top = quality.max(axis=1)
        share = np.exp(quality - top[:, None])
        values = top + np.log(share.sum(axis=1))
        policy = share / share.sum(axis=1, keepdims=True)
        reward = np.where(mdp.open, quality - mdp.ahead(values), 0.0)
        gain = (weight * (reward - reward**2 / (4 * keep))).sum()
        gain -= at @ values - (weight * mdp.ahead(values)).sum()
        by_reward = weight * (1 - reward / (2 * keep))
        back = mdp.gamma * np.einsum("sa,sat->t", weight - by_reward, mdp.moves)
        slope = by_reward + (back - at)[:, None] * policy
        return -float(gain), -np.where(mdp.open, slope, 0.0).ravel()

    settings = {"maxiter": 5000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(loss, np.zeros(weight.size), jac=True, method="L-BFGS-B", options=settings)
    quality = np.where(mdp.open, found.x.reshape(weight.shape), -np.inf)
    values = np.logaddexp.reduce(quality, axis=1)
    return np.where(mdp.open, quality - mdp.ahead(values), 0.0)
