"""Tournaments between agents, ratings with intervals, and the statistics to trust them."""

from palestra_arena.result import GameResult
from palestra_arena.settings import (
    Adaptive,
    CrossPlay,
    Environment,
    KnockOut,
    Ladder,
    Population,
    RoundRobin,
    Settings,
    Swiss,
    read_settings,
)
from palestra_arena.store import Store
from palestra_arena.tournament import Tournament, run_tournament

__all__ = [
    "Adaptive",
    "CrossPlay",
    "Environment",
    "GameResult",
    "KnockOut",
    "Ladder",
    "Population",
    "RoundRobin",
    "Settings",
    "Store",
    "Swiss",
    "Tournament",
    "read_settings",
    "run_tournament",
]
