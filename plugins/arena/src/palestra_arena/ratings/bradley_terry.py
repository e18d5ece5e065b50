"""Bradley-Terry strengths by maximum likelihood (Bradley and Terry 1952; Hunter 2004).

P(i beats j) = 1 / (1 + 10^((r_j - r_i) / 400)); a tie is half a win for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import networkx as nx
import numpy as np
from numpy.random import default_rng
from numpy.typing import ArrayLike
from palestra import InvalidOption

from palestra_arena.ratings.contests import Contests, Floats, Rating, resample

MEAN = 1500.0
ELO = 400 / math.log(10)  # rating points per natural logarithm of odds
TOLERANCE = 1e-10
STEPS = 100


def strengths(wins: ArrayLike, *, prior: float = 0.0) -> Floats:
    """Maximum-likelihood strengths in natural log-odds, (…, agents) with mean 0.

    `wins` is (…, agents, agents): how often the row beat the column. `prior` adds that many drawn
    games to every pair that met. Without it the maximum exists only if no group of agents won all
    its games against the rest (Ford 1957); `InvalidOption` says so otherwise.
    """
    table = np.array(wins, dtype=float)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise InvalidOption(f"wins must be (…, agents, agents), not {table.shape}")
    met = table + table.swapaxes(-1, -2) > 0
    table += prior / 2 * met
    for single in table.reshape(-1, *table.shape[-2:]) if prior == 0 else ():
        _require_maximum(single)
    return maximise(table)


def _require_maximum(wins: Floats) -> None:
    if not nx.is_strongly_connected(nx.from_numpy_array(wins, create_using=nx.DiGraph)):
        raise InvalidOption(
            "no finite maximum: some agents won, or lost, all games against the rest; give a "
            "prior, such as prior=1, or play more games"
        )


def maximise(wins: Floats) -> Floats:
    """The maximum of the likelihood of a stack of tables at once, by Newton's method.

    The likelihood is concave; where it has no maximum, this stops far out. choix, which fits one
    table at a time, agrees in the tests; the bootstrap fits a thousand.
    """
    size = wins.shape[-1]
    games = wins + wins.swapaxes(-1, -2)
    theta = np.zeros(wins.shape[:-1])
    diagonal = np.arange(size)
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(theta[..., None, :] - theta[..., :, None]))
        gradient = (wins - games * expected).sum(-1)
        curvature = games * expected * (1 - expected)
        hessian = -curvature + 1 / size  # the constant fixes the mean, which games do not
        hessian[..., diagonal, diagonal] += curvature.sum(-1)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        step /= np.maximum(1.0, np.abs(step).max(-1, keepdims=True))
        theta = theta + step - (theta + step).mean(-1, keepdims=True)
        if np.abs(step).max(initial=0.0) < TOLERANCE:
            break
    return theta


def bradley_terry(
    contests: Contests,
    *,
    confidence: float = 0.95,
    prior: float = 1.0,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Rating]:
    """Ratings on the scale of Elo, mean 1500, with Bayesian bootstrap intervals over blocks.

    `prior` drawn games for every pair that met keep the rating of an agent that won everything
    finite; the intervals use as many blocks, see `resample`.
    """
    require_connected(contests)
    value = strengths(contests.wins, prior=prior)
    drawn = resample(contests, resamples, default_rng(seed), prior=prior)
    spread = maximise(drawn)
    return on_elo_scale(contests.names, value, spread, confidence)


def on_elo_scale(
    names: Sequence[str], value: Floats, spread: Floats, confidence: float
) -> list[Rating]:
    """Strengths in log-odds, and a bootstrap sample of them, as ratings."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(spread, [tail, 1 - tail], axis=0)
    return [
        Rating(name, *(float(MEAN + ELO * x) for x in (value[i], low[i], high[i])))
        for i, name in enumerate(names)
    ]


def require_connected(contests: Contests) -> None:
    """Raise if some agents are not connected to the others by any chain of games."""
    table = contests.wins
    if not len(table):
        raise InvalidOption("no games between different agents, so there is nothing to rate")
    groups = list(nx.connected_components(nx.from_numpy_array(table + table.T)))
    if len(groups) > 1:
        first = ", ".join(contests.names[i] for i in sorted(groups[0]))
        raise InvalidOption(f"no game joins {first} to the others; rate them apart")
