"""Weights of auxiliary rewards that increase a learner's true return."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.tabular.mdp import Mdp


def blend(
    mdp: Mdp, true: Any, parts: Any, *, temperature: float = 0.1, bound: float = 2.0
) -> Floats:
    """Find weights of `parts` under which a learner gets the greatest return of `true`.

    `true` has shape (states, actions), `parts` (states, actions, n); weights are from -bound to
    bound and start at 1 for the first part, the environment's own reward, and 0 for the rest. The
    inner problem's learner is the soft-optimal policy of the weighted sum; the outer gradient is
    the exact implicit derivative. Gupta et al., "Behavior Alignment via Reward Function
    Optimization" (2023), with tables instead of networks.
    """
    from scipy.optimize import minimize

    goal, given = floats(true), floats(parts)
    if given.ndim != 3 or given.shape[:2] != mdp.open.shape or goal.shape != mdp.open.shape:
        raise InvalidOption(
            f"true must have shape {mdp.open.shape}, parts {(*mdp.open.shape, 'n')}, not "
            f"{goal.shape} and {given.shape}"
        )

    def loss(weights: Floats) -> tuple[float, Floats]:
        value, slope = true_return(mdp, goal, given, floats(weights), temperature)
        return -value, -slope

    start = np.eye(given.shape[2])[0]
    found = minimize(loss, start, jac=True, bounds=[(-bound, bound)] * start.size)
    return floats(found.x)


def true_return(
    mdp: Mdp, true: Floats, parts: Floats, weights: Floats, temperature: float
) -> tuple[float, Floats]:
    """Return under `true` of the soft-optimal policy of the weighted parts, and its gradient.

    The derivative of soft values is the policy's value of each part; that of its probabilities is
    the probability times the part's advantage divided by the temperature.
    """
    policy, _ = mdp.soft(parts @ weights, temperature)
    values, worth = mdp.evaluate(policy, true)
    visits = mdp.visits(policy)
    slope = np.empty(weights.size)
    for part in range(weights.size):
        own, action = mdp.evaluate(policy, parts[:, :, part])
        slope[part] = (visits * (action - own[:, None]) * worth).sum() / temperature
    return float(mdp.start @ values), slope


def self_design(
    mdp: Mdp,
    true: Any,
    *,
    temperature: float = 0.1,
    bound: float = 1.0,
    novelty: float = 0.0,
) -> Floats:
    """Rewards that an agent designs for itself: a learned value per state and a novelty bonus.

    Both are added to `true`, shape (states, actions). The values are optimised as in `blend`; the
    bonus is `novelty` divided by the square root of visits (`mdp.counts`). "Reward Design for
    Reinforcement Learning Agents" (2025), ExploRS.
    """
    goal, (states, actions) = floats(true), mdp.open.shape
    each = np.repeat(np.eye(states)[:, None, :], actions, axis=1)
    parts = np.concatenate([goal[:, :, None], each], axis=2)
    weights = blend(mdp, goal, parts, temperature=temperature, bound=bound)
    bonus = novelty / np.sqrt(np.maximum(mdp.counts, 1)) if mdp.counts.size else 0.0
    return floats(goal + weights[1:][:, None] + bonus)
