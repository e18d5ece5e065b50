"""Whether an agent beats simple baselines at its cost, with its fixed cost spread over its games.

AI Agents That Matter (Kapoor et al. 2024, arXiv:2407.01502) requires that an agent is compared with
retrying, warming and escalation: one may always mix these, so what has to be beaten is their hull.
What was spent once, on training or on a search for prompts, is a fixed cost beside that of a game.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng
from palestra import Interval, InvalidOption, UnknownName
from palestra.records.intervals import alike_interval

from palestra_arena.cost.front import Point, pareto_front
from palestra_arena.cost.spending import Currency, GameAttempt, Task, currency_of
from palestra_arena.ratings.contests import Floats
from palestra_arena.statistics.intervals import resample_weights

RESAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Margin:
    """How much an agent's success exceeds that of the baselines' hull at its cost of a game.

    `each` is the variable cost of a game, `fixed` was spent once; `total` is a game's cost with its
    part of that. All are means over the `tasks` that the agent and all baselines played.
    """

    agent: str
    success: float
    each: float
    fixed: float
    total: float
    margin: Interval
    tasks: int


def above_hull(point: Point, baselines: Iterable[Point]) -> float:
    """Accuracy at `point` (cost, accuracy) less that of the best mixture of baselines at this cost.

    Not to try, for nothing, is a baseline too; a cost above all baselines buys what the best does.
    """
    points = {str(number): at for number, at in enumerate([(0.0, 0.0), *baselines])}
    hull = [points[name] for name in pareto_front(points, convex=True)]
    costs, accuracies = zip(*hull, strict=True)
    return point[1] - float(np.interp(point[0], list(costs), list(accuracies)))


def margins(
    attempts: Sequence[GameAttempt],
    baselines: Sequence[str],
    *,
    fixed: Mapping[str, float] | None = None,
    runs: float = math.inf,
    currency: Currency | None = None,
    confidence: float = 0.95,
) -> list[Margin]:
    """Every other agent's margin over the hull of `baselines`, the largest first.

    fixed: what agents cost once, in the currency. runs: games over which that is spread; infinitely
    many leave it out. The interval is a bootstrap over tasks, drawn for all agents together, and
    Wilson's between -1 and 1 where all resamples are alike. Raises
    `UnknownName` for an agent that has not played, and `InvalidOption` where no task is shared.
    """
    unit = currency or currency_of(attempts)
    made = _by_task(attempts, unit)
    once = dict(fixed or {})
    for name in (*baselines, *once):
        if name not in made:
            raise UnknownName("agent", name, made)
    found = []
    for agent in (name for name in made if name not in baselines):
        shared = sorted(set.intersection(*(set(made[name]) for name in (agent, *baselines))))
        if not shared:
            raise InvalidOption(f"{agent} shares no task with all of {', '.join(baselines)}")
        means = _resampled([[made[n][task] for task in shared] for n in (agent, *baselines)])
        share = [once.get(name, 0.0) / runs for name in (agent, *baselines)]
        means[:, :, 0] += np.array(share)[:, None]
        drawn = [
            above_hull(tuple(own), map(tuple, others)) for own, *others in means.swapaxes(0, 1)
        ]
        total, success = means[0, 0]
        cost = once.get(agent, 0.0)
        tail = (1 - confidence) / 2
        low, high = np.quantile(drawn[1:], [tail, 1 - tail])
        margin = Interval(drawn[0], float(low), float(high))
        if high - low < 1e-12:  # tasks that came out alike do not say that the next one will
            margin = alike_interval(drawn[0], len(shared), (-1.0, 1.0), confidence)
        each = float(total) - share[0]
        found.append(Margin(agent, float(success), each, cost, float(total), margin, len(shared)))
    return sorted(found, key=lambda row: (-row.margin.value, row.agent))


def _by_task(
    attempts: Sequence[GameAttempt], unit: Currency
) -> dict[str, dict[Task, tuple[float, float]]]:
    """The mean cost and success of every agent's games on a task."""
    listed: dict[str, dict[Task, list[tuple[float, float]]]] = {}
    for attempt in attempts:
        spent = float(getattr(attempt.usage, unit)), float(attempt.passed)
        listed.setdefault(attempt.agent, {}).setdefault(attempt.task, []).append(spent)
    return {
        agent: {task: tuple(np.mean(games, axis=0)) for task, games in tasks.items()}
        for agent, tasks in listed.items()
    }


def _resampled(table: Sequence[Sequence[tuple[float, float]]]) -> Floats:
    """(agents, 1 + resamples, 2): mean cost and success, first over all tasks as they are."""
    values = np.array(table)
    weights = resample_weights(values.shape[1], RESAMPLES, default_rng(0))
    found: Floats = np.einsum("rt,atk->ark", weights, values)
    return found
