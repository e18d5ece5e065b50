"""Simulating a town with given policies: forecasts, counterfactuals and fits to known cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize_scalar

from palestra_markets.population.population import Policy, Population, Stay

Lever = Callable[[int], Policy]


def nothing(week: int) -> Policy:
    """No stimulus, and nothing closed."""
    return Policy(0, 0)


def run(
    game: Population, *, seed: int, lever: Lever = nothing, stay: Sequence[int] = ()
) -> list[int]:
    """New exposures by day, with a policy for every week and fixed percentages at home by group.

    lever: the policy of a week, numbered from 0. stay: percent at home by group; by default 0.
    The same seed with another lever is a counterfactual: the same town, the same people ill first.
    """
    state, percents = game.initial_state(seed), tuple(stay) or (0,) * game.groups
    for week in range(game.weeks):
        game.step(state, {0: lever(week)})
        game.step(state, {seat: Stay(percent) for seat, percent in enumerate(percents, 1)})
    return [day[0] for day in state.days]


def fit_transmission(
    cases: Sequence[int],
    game: Population,
    *,
    seeds: Sequence[int] = range(3),
    lever: Lever = nothing,
    stay: Sequence[int] = (),
    bounds: tuple[float, float] = (0.02, 1.0),
) -> float:
    """The transmission whose mean run over `seeds` comes closest to a series of daily cases.

    The distance is the sum of squared differences of square roots, whose noise is about the same
    for small and large counts. bounds: the range that is searched.
    """
    known = np.sqrt(np.asarray(cases, float))

    def miss(transmission: float) -> float:
        tried = replace(game, transmission=transmission, weeks=-(-len(cases) // 7))
        runs = [run(tried, seed=seed, lever=lever, stay=stay)[: len(cases)] for seed in seeds]
        return float(((np.sqrt(np.mean(runs, axis=0)) - known) ** 2).sum())

    # the minimum is narrow if an epidemic does not break out: search the whole range coarsely first
    grid = np.geomspace(*bounds, 15)
    at = int(np.argmin([miss(value) for value in grid]))
    around = float(grid[max(0, at - 1)]), float(grid[min(len(grid) - 1, at + 1)])
    found = minimize_scalar(miss, bounds=around, method="bounded", options={"xatol": 1e-3})
    return float(found.x)
