"""MAP: weights of several values, such that each reaches a floor and the policy changes least."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra import InvalidOption

from palestra_rewards.arrays import Floats, floats


def palette(samples: Any, floors: Any) -> Floats:
    """Weights lambda >= 0 of the policy nearest to the current one that reaches all floors.

    `samples` are rewards of outputs of the current policy, shape (n, values); `floors` and the
    weights have shape (values,). That policy is the tilt `p(y) * exp(sum of lambda_i r_i(y))`
    under which every mean is at least its floor, found by the convex dual. Pass the weights, by
    term, to `shape("lagrangian", records, weights=…)`. Xinran Wang et al., "MAP:
    Multi-Human-Value Alignment Palette" (2024).
    """
    from scipy.optimize import minimize

    table, floor = floats(samples), floats(floors)
    if table.ndim != 2 or floor.shape != (table.shape[1],):
        raise InvalidOption("samples must have shape (n, values), and floors one number per value")
    largest = reachable(table, floor)
    if largest < 1:
        raise InvalidOption(
            f"no policy over these samples reaches all floors; {largest:.3g} of the way from the "
            "current means to the floors can be reached"
        )
    over = table - floor

    def dual(weights: Floats) -> tuple[float, Floats]:
        score = over @ weights
        top = score.max()
        tilt = np.exp(score - top)
        return float(top + np.log(tilt.mean())), tilt @ over / tilt.sum()

    start = np.zeros(floor.size)
    found = minimize(dual, start, jac=True, bounds=[(0, None)] * floor.size, tol=1e-12)
    return floats(found.x)


def tilted_means(samples: Any, weights: Any) -> Floats:
    """Mean rewards, shape (values,), under the policy tilted by the weights."""
    table = floats(samples)
    score = table @ floats(weights)
    tilt = np.exp(score - score.max())
    return floats(tilt @ table / tilt.sum())


def reachable(samples: Floats, floors: Floats) -> float:
    """Largest share of the way from the current means to the floors that a mixture can reach."""
    from scipy.optimize import linprog

    size, now = samples.shape[0], samples.mean(axis=0)
    gap = floors - now
    bounds = [(0, None)] * size + [(0, 1)]
    limits = np.hstack([-samples.T, gap[:, None]])
    total = np.append(np.ones(size), 0.0)[None, :]
    goal = np.append(np.zeros(size), -1.0)
    found = linprog(goal, A_ub=limits, b_ub=-now, A_eq=total, b_eq=[1], bounds=bounds)
    return float(-found.fun)
