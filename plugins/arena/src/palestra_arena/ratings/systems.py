"""The rating systems by name."""

from __future__ import annotations

from collections.abc import Callable

from palestra import UnknownName

from palestra_arena.ratings.alpha_rank import alpha_rank
from palestra_arena.ratings.bradley_terry import bradley_terry
from palestra_arena.ratings.contests import Contests, Rating
from palestra_arena.ratings.elo import elo
from palestra_arena.ratings.elo_mmr import elo_mmr
from palestra_arena.ratings.glicko2 import glicko2
from palestra_arena.ratings.nash_averaging import nash_averaging
from palestra_arena.ratings.open_skill import open_skill

SYSTEMS: dict[str, Callable[..., list[Rating]]] = {
    "bradley-terry": bradley_terry,
    "elo": elo,
    "glicko2": glicko2,
    "openskill": open_skill,
    "elo-mmr": elo_mmr,
    "alpha-rank": alpha_rank,
    "nash-averaging": nash_averaging,
}
BY_ORDER = frozenset({"elo", "glicko2", "openskill", "elo-mmr"})  # they need every game in order


def rate(
    contests: Contests, system: str = "bradley-terry", *, confidence: float = 0.95
) -> list[Rating]:
    """Ratings by the system named, best first."""
    if system not in SYSTEMS:
        raise UnknownName("rating system", system, SYSTEMS)
    rated = SYSTEMS[system](contests, confidence=confidence)
    return sorted(rated, key=lambda rating: (-rating.value, rating.agent))
