"""Which turn earned it: reward shapers and credit estimators, by name, over plain arrays."""

from palestra_rewards.advantages import Advantages
from palestra_rewards.chain import estimate, estimator, shape
from palestra_rewards.entries import Entry, entries, entry
from palestra_rewards.group import Group
from palestra_rewards.needs import Lacking

__all__ = [
    "Advantages",
    "Entry",
    "Group",
    "Lacking",
    "entries",
    "entry",
    "estimate",
    "estimator",
    "shape",
]
