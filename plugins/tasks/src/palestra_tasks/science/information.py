"""Bayesian bookkeeping with weighted particles, and the expected information gain of a design."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from palestra import Rng

from palestra_tasks.draws import normal
from palestra_tasks.science.models import Array, Designs, Model

Trial = tuple[Designs, float]  # a design and its outcome
MOST_COUNTED = 400  # outcomes of a count that are summed over


def posterior(model: Model, thetas: Array, trials: Sequence[Trial]) -> Array:
    """The weights of particles after some trials; they sum to 1."""
    logs = np.zeros(len(thetas))
    for design, outcome in trials:
        logs += model.log_likelihood(model.mean(thetas, design), outcome)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def information_gain(
    model: Model, thetas: Array, weights: Array, design: Designs, seed: int = 0
) -> float:
    """The expected information gain of a design, in nats.

    The mutual information of outcome and unknowns under the weighted particles. Outcomes that can
    be listed are summed over; real ones are drawn, an outcome for each particle (nested Monte
    Carlo, whose bias falls with the number of particles: Rainforth et al., 2018).
    """
    means = model.mean(thetas, design)
    if model.outcome == "real":
        rng = Rng.seeded(seed, 22)
        noise = np.array([normal(rng) for _ in range(len(thetas))]) * model.noise
        outcomes = means + noise
    else:
        top = {"binary": 1, "binomial": model.trials}.get(model.outcome)
        if top is None:
            high = float(means.max())
            top = int(high + 8 * np.sqrt(high) + 10)
        outcomes = np.unique(np.linspace(0, top, min(top + 1, MOST_COUNTED)).round())
    logs = model.log_likelihood(means[:, None], outcomes[None, :])  # particle, outcome
    marginal = np.log(np.maximum(weights @ np.exp(logs), 1e-300))
    if model.outcome == "real":
        own = np.diagonal(logs)
        return float(weights @ (own - marginal))
    chances = np.exp(logs)
    scale = chances.sum(axis=1, keepdims=True)  # above 1 where every n-th count is summed
    return float(weights @ (chances / np.maximum(scale, 1e-300) * (logs - marginal)).sum(axis=1))
