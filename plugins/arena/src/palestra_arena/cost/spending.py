"""What every agent spent and achieved, one row per agent.

Cost-of-pass is the expected cost of one success: cost per attempt divided by the share of attempts
that succeed (Erol et al. 2025, arXiv:2504.13359; used by Efficient Agents, arXiv:2508.02694). It
is infinite for an agent that never succeeds, and the frontier is the cheapest agent's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import default_rng
from numpy.typing import ArrayLike
from palestra import EpisodeRecord, InvalidOption, Usage

from palestra_arena.result import GameResult
from palestra_arena.statistics import Interval, wilson

Task = tuple[str, int]  # label of an environment, seed
Currency = Literal["cost", "tokens", "seconds"]
Passed = Callable[[str, float], bool]  # from a seat's result and its score
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class GameAttempt:
    """One agent in one game; attempts of one block (the seats of one seed) share their chance."""

    agent: str
    passed: bool
    usage: Usage
    block: object
    task: Task


@dataclass(frozen=True, slots=True)
class Spending:
    """The total cost of an agent's attempts, how many succeeded, and the cost of a success.

    `accuracy` counts independent blocks, as everywhere in the arena.
    """

    agent: str
    attempts: int
    accuracy: Interval
    usage: Usage
    each: float
    cost_of_pass: Interval


def won(result: str, score: float) -> bool:
    """Whether a result is a win, whatever the score."""
    return result == "win"


def at_least(score: float) -> Passed:
    """A test of success for games without winners: a return of at least `score`."""
    return lambda _, paid: paid >= score


def attempts_from(
    games: Iterable[GameResult | EpisodeRecord], passed: Passed = won
) -> list[GameAttempt]:
    """The attempts of a tournament's results or of records, without games that do not count."""
    found = []
    for game in games:
        if isinstance(game, EpisodeRecord):
            found += _from_record(game, passed)
        elif game.counts:
            match = game.match
            task = match.environment.label, match.seed
            block = *task, match.round, tuple(sorted(match.agents))
            found += [
                GameAttempt(
                    agent, passed(game.results[seat], game.scores[seat]), spent, block, task
                )
                for seat, (agent, spent) in enumerate(zip(match.agents, game.usage, strict=True))
            ]
    return found


def _from_record(record: EpisodeRecord, passed: Passed) -> list[GameAttempt]:
    if record.outcome is None:
        return []
    spent = [Usage()] * len(record.players)
    for turn in record.turns:
        spent[turn.seat] += turn.spent
    block = record.env, str(record.options), record.seed, tuple(sorted(record.agents))
    ends = [passed(*end) for end in zip(record.outcome.results, record.returns, strict=True)]
    return [
        GameAttempt(agent, ends[seat], usage, block, (record.env, record.seed))
        for seat, (agent, usage) in enumerate(zip(record.agents, spent, strict=True))
    ]


def currency_of(attempts: Iterable[GameAttempt]) -> Currency:
    """The unit of costs: money if any was spent, else tokens, else seconds."""
    total = sum((attempt.usage for attempt in attempts), Usage())
    return "cost" if total.cost else "tokens" if total.tokens else "seconds"


def spendings(
    attempts: Iterable[GameAttempt], currency: Currency | None = None, *, confidence: float = 0.95
) -> list[Spending]:
    """One row per agent, the lowest cost-of-pass first."""
    listed = list(attempts)
    if not listed:
        raise InvalidOption("no game counts, so there are no costs to report")
    unit = currency or currency_of(listed)
    by_agent: dict[str, list[GameAttempt]] = {}
    for attempt in listed:
        by_agent.setdefault(attempt.agent, []).append(attempt)
    rows = [_row(agent, made, unit, confidence) for agent, made in by_agent.items()]
    return sorted(rows, key=lambda r: (r.cost_of_pass.value, -r.accuracy.value, r.agent))


def _row(agent: str, made: list[GameAttempt], unit: Currency, confidence: float) -> Spending:
    blocks: dict[object, list[tuple[float, float]]] = {}
    for attempt in made:
        spent = float(getattr(attempt.usage, unit))
        blocks.setdefault(attempt.block, []).append((spent, float(attempt.passed)))
    means = np.array([np.mean(block, axis=0) for block in blocks.values()])
    total = sum((attempt.usage for attempt in made), Usage())
    return Spending(
        agent=agent,
        attempts=len(made),
        accuracy=wilson(float(means[:, 1].sum()), len(means), confidence),
        usage=total,
        each=float(getattr(total, unit)) / len(made),
        cost_of_pass=cost_of_pass(means[:, 0], means[:, 1], confidence=confidence),
    )


def cost_of_pass(
    costs: ArrayLike, passed: ArrayLike, *, confidence: float = 0.95, seed: int = 0
) -> Interval:
    """Mean cost over mean success, with a percentile bootstrap interval over attempts.

    A resample without a success has infinite cost, so the upper end may be infinite. Where all
    attempts are alike, it is the mean cost over Wilson's interval of the success.
    """
    spent, good = np.asarray(costs, dtype=float), np.asarray(passed, dtype=float)
    if spent.shape != good.shape or spent.ndim != 1 or not len(spent):
        raise InvalidOption("costs and passed must be two lists of one length, at least 1")
    if (spent < 0).any() or (good < 0).any() or (good > 1).any():
        raise InvalidOption("costs must be 0 or more, and passed from 0 to 1")
    weights = default_rng(seed).multinomial(
        len(spent), np.full(len(spent), 1 / len(spent)), size=RESAMPLES
    )
    bought = weights @ good
    drawn = np.full(RESAMPLES, math.inf)
    np.divide(weights @ spent, bought, out=drawn, where=bought > 0)
    drawn.sort()
    tail = (1 - confidence) / 2
    low, high = (drawn[round(q * (RESAMPLES - 1))] for q in (tail, 1 - tail))
    value = spent.sum() / good.sum() if good.any() else math.inf
    if low == high < math.inf:
        share = wilson(good.sum(), len(good), confidence)
        low, high = spent.mean() / share.high, spent.mean() / share.low
    return Interval(float(value), float(low), float(high))
