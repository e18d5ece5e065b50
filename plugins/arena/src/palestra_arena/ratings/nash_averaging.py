"""Nash averaging (Balduzzi et al. 2018, arXiv:1806.02643).

An agent's rating is its payoff against the maximum-entropy Nash mixture of all agents. Copies of an
agent and opponents that everybody beats do not change it.
"""

from __future__ import annotations

import numpy as np
from numpy.random import default_rng
from numpy.typing import ArrayLike
from palestra import InvalidOption
from scipy import optimize

from palestra_arena.ratings.alpha_rank import require_all_met, win_shares
from palestra_arena.ratings.contests import Contests, Floats, Rating, resample

SLACK = 1e-9


def nash_average(payoffs: ArrayLike) -> tuple[Floats, Floats]:
    """The maximum-entropy Nash mixture of an antisymmetric game, and each agent's worth against it.

    `payoffs` is (agents, agents), what the row wins from the column; worth is at most 0, and 0 for
    every agent in the mixture.
    """
    table = np.array(payoffs, dtype=float)
    if table.ndim != 2 or not np.allclose(table, -table.T):
        raise InvalidOption(
            "payoffs must be antisymmetric: what the row wins, the column loses; for win shares p "
            "take p - 1/2 or the logarithm of the odds"
        )
    scale = np.abs(table).max() or 1.0
    mixture = _maximum_entropy(table / scale)
    return mixture, table @ mixture


def _maximum_entropy(table: Floats) -> Floats:
    """Maximise entropy over { p : table p <= 0 }, the Nash equilibria of a game of value 0.

    The dual is smooth and has one variable an opponent: p is proportional to exp(-table' y).
    """
    size = len(table)
    start = _some_equilibrium(table)
    support = _possible_support(table)

    def negative_entropy(p: Floats) -> float:
        q = np.maximum(p, 1e-300)
        return float((q * np.log(q)).sum())

    def gradient(p: Floats) -> Floats:
        return np.log(np.maximum(p, 1e-12)) + 1

    found = optimize.minimize(
        negative_entropy,
        start,
        jac=gradient,
        method="SLSQP",
        bounds=[(0.0, 1.0 if i in support else 0.0) for i in range(size)],
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(size)},
            {"type": "ineq", "fun": lambda p: -table @ p, "jac": lambda p: -table},
        ],
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    mixture = np.clip(found.x if _is_equilibrium(table, found.x) else start, 0.0, None)
    return mixture / mixture.sum()


def _is_equilibrium(table: Floats, p: Floats) -> bool:
    return bool((table @ p).max() <= 1e-6 and abs(p.sum() - 1) <= 1e-6)


def _some_equilibrium(table: Floats, favour: Floats | None = None) -> Floats:
    """One equilibrium, by linear programming: the one with the most mass on `favour`."""
    size = len(table)
    objective = np.zeros(size) if favour is None else -favour
    found = optimize.linprog(
        objective,
        A_ub=table,
        b_ub=np.full(size, SLACK),
        A_eq=np.ones((1, size)),
        b_eq=[1.0],
        bounds=(0, 1),
    )
    return found.x


def _possible_support(table: Floats) -> set[int]:
    """Agents that have mass in some equilibrium, and so in the one of maximum entropy."""
    size = len(table)
    return {i for i in range(size) if _some_equilibrium(table, np.eye(size)[i])[i] > 1e-7}


def nash_averaging(
    contests: Contests, *, confidence: float = 0.95, resamples: int = 200, seed: int = 0
) -> list[Rating]:
    """Worth of every agent over the table of win shares less 1/2, with bootstrap intervals."""
    require_all_met(contests)
    drawn = resample(contests, resamples, default_rng(seed))
    value = nash_average(win_shares(contests.wins) - 0.5)[1]
    spread = [nash_average(_antisymmetric(wins))[1] for wins in drawn]
    tail = (1 - confidence) / 2
    low, high = np.quantile(spread, [tail, 1 - tail], axis=0)
    return [
        Rating(name, float(value[i]), float(low[i]), float(high[i]))
        for i, name in enumerate(contests.names)
    ]


def _antisymmetric(wins: Floats) -> Floats:
    shares = win_shares(wins) - 0.5
    return (shares - shares.T) / 2
