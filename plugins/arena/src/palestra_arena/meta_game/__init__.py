"""Games between populations: equilibria of payoff tables, and populations that grow (PSRO)."""

from palestra_arena.meta_game.game_tree import SequenceForm, sequence_form
from palestra_arena.meta_game.normal_form import normal_nash_conv
from palestra_arena.meta_game.psro import Population, psro
from palestra_arena.meta_game.risk_averse import RiskAverse, risk_averse_equilibrium
from palestra_arena.meta_game.solvers import META_SOLVERS, meta_solve, nash_mixes, profile_mass

__all__ = [
    "META_SOLVERS",
    "Population",
    "RiskAverse",
    "SequenceForm",
    "meta_solve",
    "nash_mixes",
    "normal_nash_conv",
    "profile_mass",
    "psro",
    "risk_averse_equilibrium",
    "sequence_form",
]
