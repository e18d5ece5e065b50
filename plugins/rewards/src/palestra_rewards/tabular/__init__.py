"""Rewards found on a small decision problem's table: designed, blended, or read off play.

`Mdp.seen(records)` makes the table; what is found is paid by the step shaper of its name, from
`mdp.table(values)` or a JSON file of it.
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
