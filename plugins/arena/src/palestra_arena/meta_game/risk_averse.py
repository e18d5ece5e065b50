"""Risk-averse equilibrium (Slumbers et al., "A Game-Theoretic Framework for Managing Risk in
Multi-Agent Systems", ICML 2023, arXiv:2205.15434).

Player i with mix x maximises x·m - gamma x'Sx, where m and S are the mean and the covariance of
what its strategies are paid under the others' mixes: the variance that others cause. Utilities are
concave, so that an equilibrium always exists. Every mix trembles: no strategy is played less than
its share of `tremble`, so that rare disasters count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from palestra import InvalidOption
from scipy import optimize

from palestra_arena.meta_game.normal_form import (
    Floats,
    Mixes,
    Payoffs,
    read_payoffs,
    rivals_profiles,
    uniform_mixes,
)


@dataclass(frozen=True, slots=True)
class RiskAverse:
    """An equilibrium, with one entry per player.

    `values` and `variances` are of the payoffs, `worst` is the least payoff of any profile of
    rivals, and `gains` is what a player could still add to its utility by another mix: 0 in an
    exact equilibrium.
    """

    mixes: Mixes
    values: tuple[float, ...]
    variances: tuple[float, ...]
    worst: tuple[float, ...]
    gains: tuple[float, ...]


def risk_averse_equilibrium(
    payoffs: Sequence[ArrayLike],
    gamma: float,
    *,
    tremble: float = 0.01,
    iterations: int = 1000,
    tolerance: float = 1e-6,
    start: Sequence[ArrayLike] | None = None,
) -> RiskAverse:
    """Fictitious play with risk-averse best responses, from `start` (uniform by default).

    Beliefs are the average of all responses so far, and all players respond at once. `gamma` 0
    gives fictitious play, which tends to Nash equilibria where it converges. Stops when nobody
    can gain `tolerance`.
    """
    tables = read_payoffs(payoffs)
    if not gamma >= 0:
        raise InvalidOption(f"gamma must be 0 (no aversion to risk) or more, not {gamma!r}")
    if not 0 <= tremble < 1:
        raise InvalidOption(f"tremble must be from 0 up to 1, not {tremble!r}")
    mixes = _start(tables, start)
    mixes = tuple((1 - tremble) * mix + tremble / len(mix) for mix in mixes)
    for number in range(1, iterations + 1):
        replies = _replies(tables, mixes, gamma, tremble)
        if max(_gains(tables, mixes, replies, gamma)) <= tolerance:
            break
        mixes = tuple(
            mix + (reply - mix) / (number + 1) for mix, reply in zip(mixes, replies, strict=True)
        )
    return _summary(tables, mixes, gamma, tremble)


def _start(tables: Payoffs, start: Sequence[ArrayLike] | None) -> Mixes:
    if start is None:
        return uniform_mixes(tables)
    mixes = tuple(np.array(mix, dtype=float) for mix in start)
    sizes = tables[0].shape
    if tuple(len(mix) for mix in mixes) != sizes or not all(
        (mix >= 0).all() and np.isclose(mix.sum(), 1) for mix in mixes
    ):
        raise InvalidOption(f"start must be distributions over {sizes} strategies")
    return mixes


def moments(payoffs: Payoffs, mixes: Mixes, seat: int) -> tuple[Floats, Floats]:
    """Mean (strategies) and covariance (strategies, strategies) of what a player is paid."""
    table, chances = rivals_profiles(payoffs, mixes, seat)
    mean = table @ chances
    apart = table - mean[:, None]
    covariance: Floats = (apart * chances) @ apart.T
    return mean, covariance


def best_risk_averse(mean: ArrayLike, covariance: ArrayLike, gamma: float, floor: float) -> Floats:
    """The mix of at least `floor` everywhere that maximises mean·x - gamma x'covariance x."""
    m, s = np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float)
    size = len(m)
    best = np.full(size, floor)
    best[int(m.argmax() if gamma == 0 else np.argmax(m - gamma * np.diag(s)))] += 1 - size * floor
    if gamma == 0 or size == 1:
        return best
    scale = max(float(np.abs(m - m.mean()).max()), gamma * float(np.abs(s).max()), 1e-12)
    m, s = (m - m.mean()) / scale, gamma * s / scale
    found = optimize.minimize(
        lambda x: float(x @ s @ x - m @ x),
        best,
        jac=lambda x: 2 * s @ x - m,
        method="SLSQP",
        bounds=[(floor, 1.0)] * size,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(size)},
        options={"ftol": 1e-14, "maxiter": 200},
    )
    mix = np.maximum(found.x, floor)
    return mix / mix.sum()


def utility(mean: Floats, covariance: Floats, mix: Floats, gamma: float) -> float:
    return float(mean @ mix - gamma * mix @ covariance @ mix)


def _replies(tables: Payoffs, mixes: Mixes, gamma: float, tremble: float) -> Mixes:
    return tuple(
        best_risk_averse(*moments(tables, mixes, seat), gamma, tremble / len(mix))
        for seat, mix in enumerate(mixes)
    )


def _gains(tables: Payoffs, mixes: Mixes, replies: Mixes, gamma: float) -> tuple[float, ...]:
    gains = []
    for seat, (mix, reply) in enumerate(zip(mixes, replies, strict=True)):
        known = moments(tables, mixes, seat)
        gains.append(utility(*known, reply, gamma) - utility(*known, mix, gamma))
    return tuple(gains)


def _summary(tables: Payoffs, mixes: Mixes, gamma: float, tremble: float) -> RiskAverse:
    known = [moments(tables, mixes, seat) for seat in range(len(mixes))]
    paid = [mix @ rivals_profiles(tables, mixes, seat)[0] for seat, mix in enumerate(mixes)]
    return RiskAverse(
        mixes=mixes,
        values=tuple(float(m @ mix) for (m, _), mix in zip(known, mixes, strict=True)),
        variances=tuple(float(mix @ s @ mix) for (_, s), mix in zip(known, mixes, strict=True)),
        worst=tuple(float(by_profile.min()) for by_profile in paid),
        gains=_gains(tables, mixes, _replies(tables, mixes, gamma, tremble), gamma),
    )
