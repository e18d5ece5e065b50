"""Elo-MMR: ratings from ranks among many players (Ebtekar and Liu, WWW 2021, arXiv:2101.00400).

A player's belief about its skill is a normal factor and one logistic factor a game. Each game is
first turned into a performance, the skill that explains the player's place among these rivals; the
belief is then diffused and multiplied by a logistic factor at that performance. Logistic tails
keep one very bad or very good game from moving a rating far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import optimize, stats

from palestra_arena.ratings.contests import Contests, Floats, Rating

LOGISTIC = math.pi / math.sqrt(3)  # standard deviation of the standard logistic distribution
LOWEST, HIGHEST = -6000.0, 9000.0


@dataclass(slots=True)
class Belief:
    """The belief about one skill: `mean` and `deviation`, and the factors behind them.

    Factor 0 is normal, the others are logistic; `weights` are precisions.
    """

    mean: float
    deviation: float
    centres: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.centres, self.weights = [self.mean], [self.deviation**-2]

    def diffuse(self, drift: float, transfer: float) -> None:
        """Let time pass: the variance grows by `drift`, old factors fade (Algorithm 2)."""
        kept = self.deviation**2 / (self.deviation**2 + drift)
        stays = kept**transfer
        moved = (1 - stays) * sum(self.weights)
        normal = stays * self.weights[0]
        self.centres[0] = (normal * self.centres[0] + moved * self.mean) / (normal + moved)
        self.weights[0] = kept * (normal + moved)
        self.weights[1:] = [weight * stays * kept for weight in self.weights[1:]]
        self.deviation /= math.sqrt(kept)

    def learn(self, performance: float, deviation: float) -> None:
        """Multiply by one game's factor, and move to the mode of the posterior."""
        self.centres.append(performance)
        self.weights.append(deviation**-2)
        self.scales.append(LOGISTIC / deviation)
        self.deviation = (self.deviation**-2 + deviation**-2) ** -0.5
        centres, weights = np.array(self.centres), np.array(self.weights)
        scales = np.array(self.scales)

        def slope(x: float) -> float:
            """Of the negative logarithm of the posterior."""
            gaps = x - centres
            pulls = weights[1:] / scales * LOGISTIC**2 * np.tanh(gaps[1:] * scales / 2)
            return float(weights[0] * gaps[0] + pulls.sum())

        self.mean = float(optimize.brentq(slope, LOWEST, HIGHEST, xtol=1e-9))


@dataclass(frozen=True, slots=True)
class EloMMR:
    """The system, with the constants of the paper's experiments on Codeforces.

    `beta` is the spread of performances round a skill, `limit` the deviation that a skill seen
    very often still has, `transfer` (rho in the paper) how fast old games turn normal.
    """

    mean: float = 1500.0
    deviation: float = 350.0
    beta: float = 200.0
    limit: float = 80.0
    transfer: float = 1.0

    @property
    def drift(self) -> float:
        """Variance added before every game, so that deviations settle at `limit`."""
        return self.limit**4 / (self.beta**2 - self.limit**2)

    def newcomer(self) -> Belief:
        return Belief(self.mean, self.deviation)

    def update(self, beliefs: Sequence[Belief], ranks: Sequence[int]) -> None:
        """Change the beliefs about everybody who played, in place; ranks count who did better."""
        for belief in beliefs:
            belief.diffuse(self.drift, self.transfer)
        means = np.array([belief.mean for belief in beliefs])
        spreads = np.hypot([belief.deviation for belief in beliefs], self.beta)
        order = np.array(ranks)
        places = [performance(means, spreads, order, rank) for rank in ranks]
        for belief, place in zip(beliefs, places, strict=True):
            belief.learn(place, self.beta)


def performance(means: Floats, spreads: Floats, ranks: Floats, rank: float) -> float:
    """The most likely performance of the player at `rank`: the root of the paper's equation (6).

    Rivals' performances are logistic with the means and standard deviations given; the player
    counts as a rival it tied with.
    """
    scales = LOGISTIC / spreads
    beat, tied = ranks > rank, ranks == rank

    def slope(x: float) -> float:
        below = (1 + np.tanh(scales * (x - means) / 2)) / 2
        return float(
            (scales * (np.where(tied, 1.0, beat) - np.where(tied, 2.0, 1.0) * below)).sum()
        )

    return float(optimize.brentq(slope, LOWEST, HIGHEST, xtol=1e-9))


def elo_mmr(
    contests: Contests, *, confidence: float = 0.95, system: EloMMR | None = None
) -> list[Rating]:
    """Ratings with the system's own intervals, updated game by game."""
    system = system or EloMMR()
    beliefs = [system.newcomer() for _ in contests.names]
    for game in contests.games:
        system.update([beliefs[player] for player in game.players], game.ranks)
    width = float(stats.norm.ppf((1 + confidence) / 2))
    return [
        Rating(name, b.mean, b.mean - width * b.deviation, b.mean + width * b.deviation)
        for name, b in zip(contests.names, beliefs, strict=True)
    ]
