"""What a table of results can and cannot say: intervals, power, tests, aggregates."""

from palestra import Interval, wilson

from palestra_arena.statistics.aggregates import (
    iqm,
    performance_profile,
    stratified_interval,
)
from palestra_arena.statistics.comparisons import Comparison, compare_paired, correct, mcnemar
from palestra_arena.statistics.divergence import Parting, first_divergence
from palestra_arena.statistics.generality import (
    Generality,
    generality,
    pareto_front,
    shares_of_best,
    shares_of_equilibrium,
)
from palestra_arena.statistics.intervals import bootstrap, mean_interval
from palestra_arena.statistics.pass_at_k import pass_at_k, pass_hat_k
from palestra_arena.statistics.power import (
    detectable_difference,
    games_against_half,
    power_of_pairs,
    power_of_two_shares,
    trials_for_pairs,
    trials_for_two_shares,
)
from palestra_arena.statistics.survival import SurvivalCurve, survival_curve

__all__ = [
    "Comparison",
    "Generality",
    "Interval",
    "Parting",
    "SurvivalCurve",
    "bootstrap",
    "compare_paired",
    "correct",
    "detectable_difference",
    "first_divergence",
    "games_against_half",
    "generality",
    "iqm",
    "mcnemar",
    "mean_interval",
    "pareto_front",
    "pass_at_k",
    "pass_hat_k",
    "performance_profile",
    "power_of_pairs",
    "power_of_two_shares",
    "shares_of_best",
    "shares_of_equilibrium",
    "stratified_interval",
    "survival_curve",
    "trials_for_pairs",
    "trials_for_two_shares",
    "wilson",
]
