"""A town of a million people: seconds for one day of epidemic, work and choices at home."""

from __future__ import annotations

from palestra_markets.population.population import DAYS, Policy, Population, Stay
from timing import Row, limit, rate

GAME = Population(people=1_000_000)


def work() -> int:
    """Two weeks with an epidemic under way; returns how many days."""
    state = GAME.initial_state(0)
    for _ in range(2):
        GAME.step(state, {0: Policy(100, 25)})
        GAME.step(state, {seat: Stay(30) for seat in range(1, GAME.num_players)})
    return 2 * DAYS


def seconds_a_day() -> Row:
    work()  # the town is built once
    return limit("a day of a million people", 1 / rate(work), at_most=1.0, unit="s")


MEASURES = (seconds_a_day,)
