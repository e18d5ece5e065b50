from .result import GameResult as GameResult
from .settings import (
    Adaptive as Adaptive,
    CrossPlay as CrossPlay,
    Environment as Environment,
    KnockOut as KnockOut,
    Ladder as Ladder,
    Population as Population,
    RoundRobin as RoundRobin,
    Settings as Settings,
    Swiss as Swiss,
    read_settings as read_settings,
)
from .store import Store as Store
from .tournament import Tournament as Tournament, run_tournament as run_tournament
