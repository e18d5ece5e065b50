"""Rating systems over the results of a tournament, all with intervals."""

from palestra_arena.ratings.alpha_rank import alpha_rank, alpha_rank_mass
from palestra_arena.ratings.bradley_terry import bradley_terry, strengths
from palestra_arena.ratings.contests import Contest, Contests, Rating, contests_from, contests_of
from palestra_arena.ratings.elo import elo, expected_score
from palestra_arena.ratings.elo_mmr import EloMMR, elo_mmr
from palestra_arena.ratings.glicko2 import Glicko2, Skill, glicko2
from palestra_arena.ratings.nash_averaging import nash_average, nash_averaging
from palestra_arena.ratings.open_skill import open_skill
from palestra_arena.ratings.response_graph import ResponseGraph
from palestra_arena.ratings.systems import BY_ORDER, SYSTEMS, rate

__all__ = [
    "BY_ORDER",
    "SYSTEMS",
    "Contest",
    "Contests",
    "EloMMR",
    "Glicko2",
    "Rating",
    "ResponseGraph",
    "Skill",
    "alpha_rank",
    "alpha_rank_mass",
    "bradley_terry",
    "contests_from",
    "contests_of",
    "elo",
    "elo_mmr",
    "expected_score",
    "glicko2",
    "nash_average",
    "nash_averaging",
    "open_skill",
    "rate",
    "strengths",
]
