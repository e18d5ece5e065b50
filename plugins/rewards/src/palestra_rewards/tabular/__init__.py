"""Rewards computed on tables of small decision problems: designed, blended or inferred.

`Mdp.seen(records)` estimates the tables. Each method has a step shaper of its name that pays the
rewards it found, given as `mdp.table(values)` or as a JSON file of that. Advisors are different:
`Advisors` learns action values, and the agent `multi-advisor` plays by their sum.
"""

from palestra_rewards.tabular.acting import Advisors, MultiAdvisor
from palestra_rewards.tabular.advisors import advise
from palestra_rewards.tabular.blend import blend, self_design
from palestra_rewards.tabular.design import design_rewards
from palestra_rewards.tabular.inverse import constraint_costs, learnt_rewards
from palestra_rewards.tabular.mdp import Mdp, epic_distance
from palestra_rewards.tabular.values import (
    alike,
    counts_of,
    ground,
    grounding_accuracy,
    value_system,
)

__all__ = [
    "Advisors",
    "Mdp",
    "MultiAdvisor",
    "advise",
    "alike",
    "blend",
    "constraint_costs",
    "counts_of",
    "design_rewards",
    "epic_distance",
    "ground",
    "grounding_accuracy",
    "learnt_rewards",
    "self_design",
    "value_system",
]
