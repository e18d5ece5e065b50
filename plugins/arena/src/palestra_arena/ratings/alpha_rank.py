"""Alpha-Rank (Omidshafiei et al. 2019, arXiv:1903.01373), for agents of one population.

Agents are strategies of a symmetric game. A population that all play i is invaded by a mutant j;
how often the mutant takes over makes a Markov chain, and the share of time the chain spends at
each agent is its mass. A cycle of agents that beat each other shares its mass, where a rating
would have to put them in a row.
"""

from __future__ import annotations

import numpy as np
from numpy.random import default_rng
from numpy.typing import ArrayLike
from palestra import InvalidOption

from palestra_arena.ratings.bradley_terry import require_connected
from palestra_arena.ratings.contests import Contests, Floats, Rating, resample

POPULATION = 50
NOISE = 1e-4  # a mutation's chance in the limit of infinite alpha; keeps the chain irreducible


def alpha_rank_mass(
    payoffs: ArrayLike,
    *,
    alpha: float = np.inf,
    population: int = POPULATION,
    use_local_selection_model: bool = False,
) -> Floats:
    """The stationary distribution over agents, for (agents, agents) payoffs to the row.

    `alpha` is the strength of selection: if infinite, a mutant that earns more always takes over,
    one that earns as much does with probability 1/2, and any other with a small probability
    (`NOISE`). For finite alpha a player's fitness is what it earns against the whole population, as
    in the paper; with `use_local_selection_model`, OpenSpiel's default, against its present
    opponent only. Their masses differ: by 0.10 for the five strategies of Han et al. (2013) at
    alpha 0.1, and by more the stronger selection is.
    """
    table = np.array(payoffs, dtype=float)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise InvalidOption(f"payoffs must be (agents, agents), not {table.shape}")
    size = len(table)
    if size == 1:
        return np.ones(1)
    if np.isinf(alpha):
        fixation = _limit(table)
    else:
        rule = _local_fixation if use_local_selection_model else _fixation
        fixation = rule(table, alpha, population)
    chain = fixation / (size - 1)
    np.fill_diagonal(chain, 0.0)
    np.fill_diagonal(chain, 1 - chain.sum(1))
    return stationary(chain)


def _limit(table: Floats) -> Floats:
    """Chance that mutant j takes a population of i over, for infinite alpha."""
    gain = table.T - table  # what j earns against i, less what i earns against j
    return np.where(gain > 0, 1 - NOISE, np.where(gain < 0, NOISE, 0.5))


def _fixation(table: Floats, alpha: float, population: int) -> Floats:
    """The same for finite alpha: the fixation probability of a birth-death process.

    With l mutants in the population, a player meets all the others equally often; the mutant
    gives way rather than spreads with odds exp(-alpha (f_mutant - f_resident)).
    """
    own = np.diag(table)
    mutants = np.arange(1, population)[:, None, None]
    residents = population - mutants
    resident = (mutants * table + (residents - 1) * own[:, None]) / (population - 1)
    mutant = (residents * table.T + (mutants - 1) * own[None, :]) / (population - 1)
    exponents = np.cumsum(-alpha * (mutant - resident), axis=0)
    top = np.maximum(exponents.max(0), 0.0)
    total = np.exp(-top) + np.exp(exponents - top).sum(0)
    return np.exp(-top) / total


def _local_fixation(table: Floats, alpha: float, population: int) -> Floats:
    """The same where only the present opponent counts: (1 - e^-u) / (1 - e^(-population u))."""
    lead = alpha * (table.T - table)  # u: what mutant j earns against i beyond what i earns
    size = np.maximum(np.abs(lead), 1e-14)
    risen = np.expm1(-size) / np.expm1(-population * size)
    sunk = risen * np.exp(-(population - 1) * size)
    return np.where(lead > 0, risen, sunk)


def stationary(chain: Floats) -> Floats:
    """The left eigenvector of eigenvalue 1 of an irreducible chain."""
    equations = chain.T - np.eye(len(chain))
    equations[-1] = 1.0  # each of them follows from the others, so that one makes room for the sum
    mass = np.clip(np.linalg.solve(equations, np.eye(len(chain))[-1]), 0.0, None)
    return mass / mass.sum()


def require_all_met(contests: Contests) -> None:
    """Raise if two agents never met: nothing says who of them would win."""
    require_connected(contests)
    table = contests.wins
    apart = np.argwhere(np.triu(table + table.T == 0, 1)).tolist()
    if apart:
        names = contests.names
        shown = ", ".join(f"{names[a]} and {names[b]}" for a, b in apart[:5])
        more = f" and {len(apart) - 5} more pairs" if len(apart) > 5 else ""
        raise InvalidOption(
            f"never met: {shown}{more}; ratings by a table of all pairs need games of each: play "
            "the schedule round-robin to its end, or rate by bradley-terry"
        )


def win_shares(wins: Floats) -> Floats:
    """Share of games the row won against the column; 1/2 for those that did not meet."""
    games = wins + wins.swapaxes(-1, -2)
    return np.where(games > 0, wins / np.maximum(games, 1e-300), 0.5)


def alpha_rank(
    contests: Contests,
    *,
    confidence: float = 0.95,
    alpha: float = np.inf,
    resamples: int = 200,
    seed: int = 0,
) -> list[Rating]:
    """Mass of every agent over the table of win shares, with Bayesian bootstrap intervals."""
    require_all_met(contests)
    drawn = resample(contests, resamples, default_rng(seed))
    value = alpha_rank_mass(win_shares(contests.wins), alpha=alpha)
    spread = [alpha_rank_mass(win_shares(wins), alpha=alpha) for wins in drawn]
    tail = (1 - confidence) / 2
    low, high = np.quantile(spread, [tail, 1 - tail], axis=0)
    return [
        Rating(name, float(value[i]), float(low[i]), float(high[i]))
        for i, name in enumerate(contests.names)
    ]
