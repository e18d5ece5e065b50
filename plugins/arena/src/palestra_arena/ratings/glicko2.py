"""Glicko-2 (Glickman, "Example of the Glicko-2 system", 2022 edition)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from scipy import optimize, stats

from palestra_arena.ratings.contests import Contest, Contests, Rating

SCALE = 173.7178  # rating points per unit of the internal scale
CENTRE = 1500.0


class Skill(NamedTuple):
    """A rating, its deviation (one standard deviation of belief) and its volatility."""

    rating: float = CENTRE
    deviation: float = 350.0
    volatility: float = 0.06


class Game(NamedTuple):
    """One game of a rating period: the opponent before the period, and the points made of it."""

    opponent: Skill
    points: float


@dataclass(frozen=True, slots=True)
class Glicko2:
    """The system; `tau` constrains how fast volatility changes (0.3 to 1.2)."""

    tau: float = 0.5

    def update(self, skill: Skill, games: Sequence[Game]) -> Skill:
        """A player's skill after a rating period; steps 2 to 8 of the paper."""
        phi = skill.deviation / SCALE
        if not games:
            deviation = SCALE * math.hypot(phi, skill.volatility)
            return Skill(skill.rating, deviation, skill.volatility)
        mu = (skill.rating - CENTRE) / SCALE
        weights = [_g(game.opponent.deviation / SCALE) for game in games]
        shares = [
            1 / (1 + math.exp(-g * (mu - (game.opponent.rating - CENTRE) / SCALE)))
            for g, game in zip(weights, games, strict=True)
        ]
        pairs = list(zip(weights, shares, strict=True))
        variance = 1 / sum(g * g * share * (1 - share) for g, share in pairs)
        gain = sum(g * (game.points - share) for game, (g, share) in zip(games, pairs, strict=True))
        volatility = self._volatility(skill.volatility, phi, variance, variance * gain)
        before = math.hypot(phi, volatility)
        after = 1 / math.sqrt(1 / before**2 + 1 / variance)
        return Skill(CENTRE + SCALE * (mu + after**2 * gain), SCALE * after, volatility)

    def _volatility(self, sigma: float, phi: float, variance: float, delta: float) -> float:
        """Step 5: the root of f(x) = 0 in x = ln(volatility²)."""
        start = math.log(sigma * sigma)

        def f(x: float) -> float:
            spread = phi * phi + variance + math.exp(x)
            surprise = math.exp(x) * (delta * delta - spread) / (2 * spread * spread)
            return surprise - (x - start) / self.tau**2

        if delta * delta > phi * phi + variance:
            other = math.log(delta * delta - phi * phi - variance)
        else:
            step = 1
            while f(start - step * self.tau) < 0:
                step += 1
            other = start - step * self.tau
        if f(start) == 0:
            return sigma
        root: float = optimize.brentq(f, *sorted((start, other)), xtol=1e-12)
        return math.exp(root / 2)


def _g(phi: float) -> float:
    return 1 / math.sqrt(1 + 3 * phi * phi / math.pi**2)


def glicko2(
    contests: Contests, *, confidence: float = 0.95, system: Glicko2 | None = None
) -> list[Rating]:
    """Ratings with the system's own intervals; a round of the tournament is a rating period.

    A game of many players counts as a game against each.
    """
    system = system or Glicko2()
    skills = [Skill()] * len(contests.names)
    for _, period in groupby(contests.games, key=lambda game: game.round):
        played: list[list[Game]] = [[] for _ in skills]
        for contest in period:
            _note(contest, skills, played)
        skills = [system.update(skill, games) for skill, games in zip(skills, played, strict=True)]
    width = float(stats.norm.ppf((1 + confidence) / 2))
    return [
        Rating(name, s.rating, s.rating - width * s.deviation, s.rating + width * s.deviation)
        for name, s in zip(contests.names, skills, strict=True)
    ]


def _note(contest: Contest, skills: Sequence[Skill], played: list[list[Game]]) -> None:
    for seat, rank in zip(contest.players, contest.ranks, strict=True):
        for rival, other in zip(contest.players, contest.ranks, strict=True):
            if rival != seat:
                points = 1.0 if rank < other else 0.0 if rank > other else 0.5
                played[seat].append(Game(skills[rival], points))
