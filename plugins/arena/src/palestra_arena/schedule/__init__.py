"""Who meets whom: each schedule is a generator that yields a round and is sent its results.

A schedule depends on nothing but the settings and the results it was sent, so that a tournament
resumes by running its schedule again over the results already stored.
"""

from palestra_arena.schedule.kinds import make_plan
from palestra_arena.schedule.plan import Plan, ScheduledEnvironment
from palestra_arena.schedule.simulation import simulate_swiss

__all__ = ["Plan", "ScheduledEnvironment", "make_plan", "simulate_swiss"]
