"""Meta-solvers: from the payoffs of a population's strategies to a mix for every player."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from palestra import InvalidOption, UnknownName
from scipy import optimize

from palestra_arena.meta_game.normal_form import Floats, Mixes, Payoffs, uniform_mixes
from palestra_arena.meta_game.risk_averse import risk_averse_equilibrium
from palestra_arena.ratings.alpha_rank import NOISE, POPULATION, stationary

MOST_PROFILES = 2500  # of a population whose Markov chain is still solved


def nash_mixes(payoffs: Payoffs) -> Mixes:
    """An equilibrium of a zero-sum game of two, by linear programming."""
    if len(payoffs) != 2 or not np.allclose(payoffs[0] + payoffs[1], 0, atol=1e-9):
        raise InvalidOption(
            "the meta-solver nash is for zero-sum games of two players; choose alpha-rank, "
            "risk-averse or uniform for this one"
        )
    return _maximin(payoffs[0]), _maximin(payoffs[1].T)


def _maximin(table: Floats) -> Floats:
    """The row player's mix with the greatest least payoff: variables are the mix and that value."""
    rows, columns = table.shape
    found = optimize.linprog(
        np.append(np.zeros(rows), -1.0),
        A_ub=np.hstack([-table.T, np.ones((columns, 1))]),
        b_ub=np.zeros(columns),
        A_eq=np.append(np.ones(rows), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * rows + [(None, None)],
    )
    mix = np.clip(found.x[:rows], 0.0, None)
    return mix / mix.sum()


def profile_mass(
    payoffs: Payoffs, *, alpha: float = math.inf, population: int = POPULATION
) -> Floats:
    """Alpha-Rank of a game of several populations: mass of every profile, in payoffs' shape.

    A mutant of one population takes over by what it is paid while the others stay as they are
    (Omidshafiei et al. 2019, arXiv:1903.01373, section 2.3).
    """
    shape = payoffs[0].shape
    size = math.prod(shape)
    if size > MOST_PROFILES:
        raise InvalidOption(f"alpha-rank takes at most {MOST_PROFILES} profiles, not {size}")
    ways = sum(n - 1 for n in shape)
    if not ways:
        return np.ones(shape)
    chain = np.zeros((size, size))
    numbers = np.arange(size).reshape(shape)
    for seat, table in enumerate(payoffs):
        lines = np.moveaxis(numbers, seat, -1).reshape(-1, shape[seat])
        paid = table.ravel()[lines]
        gain = paid[:, None, :] - paid[:, :, None]  # (line, resident, mutant)
        chain[lines[:, :, None], lines[:, None, :]] += _fixation(gain, alpha, population) / ways
    np.fill_diagonal(chain, 0.0)
    np.fill_diagonal(chain, 1 - chain.sum(1))
    return stationary(chain).reshape(shape)


def _fixation(gain: Floats, alpha: float, population: int) -> Floats:
    """Chance that a mutant who is paid `gain` more takes a population over."""
    if math.isinf(alpha):
        return np.where(gain > 0, 1 - NOISE, np.where(gain < 0, NOISE, 0.5))
    odds = np.clip(alpha * gain, -500 / population, 500)
    level = np.abs(odds) < 1e-12
    safe = np.where(level, 1.0, odds)
    return np.where(level, 1 / population, np.expm1(-safe) / np.expm1(-population * safe))


def alpha_rank_mixes(payoffs: Payoffs) -> Mixes:
    """Each player's share of the mass of its strategies."""
    mass = profile_mass(payoffs)
    players = range(mass.ndim)
    return tuple(mass.sum(tuple(p for p in players if p != player)) for player in players)


def meta_solve(name: str, payoffs: Payoffs, gamma: float = 0.0) -> Mixes:
    """Mixes by the solver named; `gamma` is the aversion of "risk-averse"."""
    if name not in META_SOLVERS:
        raise UnknownName("meta-solver", name, META_SOLVERS)
    return META_SOLVERS[name](payoffs, gamma)


META_SOLVERS: dict[str, Callable[[Payoffs, float], Mixes]] = {
    "nash": lambda payoffs, _: nash_mixes(payoffs),
    "uniform": lambda payoffs, _: uniform_mixes(payoffs),
    "alpha-rank": lambda payoffs, _: alpha_rank_mixes(payoffs),
    "risk-averse": lambda payoffs, gamma: (
        risk_averse_equilibrium(payoffs, gamma, tremble=1e-3, iterations=200).mixes
    ),
}
