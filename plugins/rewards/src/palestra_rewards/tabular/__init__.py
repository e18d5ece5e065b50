"""Rewards computed on tables of small decision problems: designed, blended or inferred.

`Mdp.seen(records)` estimates the table. The step shaper named for each method pays the rewards it
found, given as `mdp.table(values)` or as a JSON file of that.
"""

from palestra_rewards.tabular.advisors import advise
from palestra_rewards.tabular.blend import blend, self_design
from palestra_rewards.tabular.design import design_rewards
from palestra_rewards.tabular.inverse import constraint_costs, learnt_rewards
from palestra_rewards.tabular.mdp import Mdp, epic_distance

__all__ = [
    "Mdp",
    "advise",
    "blend",
    "constraint_costs",
    "design_rewards",
    "epic_distance",
    "learnt_rewards",
    "self_design",
]
