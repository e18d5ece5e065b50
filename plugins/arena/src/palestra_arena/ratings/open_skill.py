"""OpenSkill: Plackett-Luce ratings of Weng and Lin (2011), by the `openskill` library."""

from __future__ import annotations

from openskill.models import PlackettLuce
from scipy import stats

from palestra_arena.ratings.contests import Contests, Rating


def open_skill(contests: Contests, *, confidence: float = 0.95) -> list[Rating]:
    """Means with the intervals of the library's own standard deviations; starts at 25."""
    model = PlackettLuce()
    skills = [model.rating(name=name) for name in contests.names]
    for game in contests.games:
        teams = [[skills[player]] for player in game.players]
        rated = model.rate(teams, ranks=[float(rank) for rank in game.ranks])
        for player, (skill,) in zip(game.players, rated, strict=True):
            skills[player] = skill
    width = float(stats.norm.ppf((1 + confidence) / 2))
    return [
        Rating(name, s.mu, s.mu - width * s.sigma, s.mu + width * s.sigma)
        for name, s in zip(contests.names, skills, strict=True)
    ]
