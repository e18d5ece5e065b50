"""What results cost: spending, cost-of-pass, fronts, diversity, and who contributed what."""

from palestra_arena.cost.baselines import Margin, above_hull, margins
from palestra_arena.cost.diversity import effective_channels, word_vectors
from palestra_arena.cost.focal import (
    FocalTeam,
    TeamChoice,
    choose_team,
    failures_of,
    focal_diversity,
    majority,
)
from palestra_arena.cost.front import PricedTask, alpha_value, break_even, pareto_front
from palestra_arena.cost.modules import Attribution, attribute, coalition_values
from palestra_arena.cost.spending import (
    Spending,
    at_least,
    attempts_from,
    cost_of_pass,
    currency_of,
    spendings,
    won,
)

__all__ = [
    "Attribution",
    "FocalTeam",
    "Margin",
    "PricedTask",
    "Spending",
    "TeamChoice",
    "above_hull",
    "alpha_value",
    "at_least",
    "attempts_from",
    "attribute",
    "break_even",
    "choose_team",
    "coalition_values",
    "cost_of_pass",
    "currency_of",
    "effective_channels",
    "failures_of",
    "focal_diversity",
    "majority",
    "margins",
    "pareto_front",
    "spendings",
    "won",
    "word_vectors",
]
