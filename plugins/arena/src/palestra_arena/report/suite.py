"""A suite's report: what every agent made of every environment, and of all of them alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng
from palestra.quoting import one_line
from palestra.records.intervals import alike_interval
from rich.table import Table
from rich.text import Text

from palestra_arena.report.leaderboard import share_refused, spent_by_agent
from palestra_arena.report.table import percent, spread
from palestra_arena.result import GameResult
from palestra_arena.statistics import Interval
from palestra_arena.tally import spent_in

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """Points by agent and environment, and the mean over environments, best first.

    Points are the share of rivals beaten, so that environments count alike whatever they pay, and
    the return where one plays alone; None where an agent played no game that counts. `refused` and
    `forfeited` are shares of the agent's answers and of the places it played, in all environments.
    """

    environments: tuple[str, ...]
    points: dict[str, tuple[float | None, ...]]
    overall: dict[str, Interval]
    refused: dict[str, float | None]
    forfeited: dict[str, float]


def suite_report(results: Iterable[GameResult], confidence: float = 0.95) -> SuiteReport:
    """Independent blocks (environment, seed, rivals) are averaged first, as everywhere."""
    blocks: dict[str, dict[str, dict[object, list[float]]]] = {}
    ends: dict[str, Counter[str]] = {}
    counted = [result for result in results if result.counts]
    for result in counted:
        match = result.match
        for agent, end in zip(match.agents, result.results, strict=True):
            ends.setdefault(agent, Counter())[end] += 1
        block = match.seed, match.round, tuple(sorted(match.agents))
        alone = len(match.agents) == 1
        made = result.scores if alone else result.points
        for agent, points in zip(match.agents, made, strict=True):
            of_agent = blocks.setdefault(agent, {}).setdefault(match.environment.label, {})
            of_agent.setdefault(block, []).append(points)
    environments = tuple(sorted({name for found in blocks.values() for name in found}))
    spent = spent_by_agent(spent_in(counted))
    overall = {a: _overall(found, confidence) for a, found in blocks.items()}
    best = sorted(blocks, key=lambda agent: (-overall[agent].value, agent))
    return SuiteReport(
        environments,
        {a: tuple(_mean(blocks[a].get(name)) for name in environments) for a in best},
        {a: overall[a] for a in best},
        {a: share_refused(spent[a].mistakes, spent[a].answers) for a in best},
        {a: ends[a]["forfeit"] / ends[a].total() for a in best},
    )


def _mean(blocks: dict[object, list[float]] | None) -> float | None:
    if not blocks:
        return None
    return sum(sum(points) / len(points) for points in blocks.values()) / len(blocks)


def _overall(found: dict[str, dict[object, list[float]]], confidence: float) -> Interval:
    """The mean over environments, with a bootstrap that draws blocks environment by environment."""
    rng = default_rng(0)
    drawn, value = np.zeros(RESAMPLES), 0.0
    for blocks in found.values():
        means = np.array([sum(points) / len(points) for points in blocks.values()])
        even = np.full(len(means), 1 / len(means))
        drawn += rng.multinomial(len(means), even, size=RESAMPLES) @ means / len(means)
        value += float(means.mean())
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn / len(found), [tail, 1 - tail])
    if low == high:
        return alike_interval(value / len(found), sum(map(len, found.values())), (0, 1), confidence)
    return Interval(value / len(found), float(low), float(high))


def suite_table(report: SuiteReport) -> Table:
    """Environments down, agents across, the best first."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("points", no_wrap=True)
    for agent in report.points:
        table.add_column(Text(one_line(agent)), justify="right")
    for number, name in enumerate(report.environments):
        cells = [points[number] for points in report.points.values()]
        table.add_row(Text(name), *("–" if cell is None else f"{cell:.2f}" for cell in cells))
    table.add_row("all alike", *(spread(mean, 2) for mean in report.overall.values()))
    table.add_row("answers refused", *map(percent, report.refused.values()))
    table.add_row("forfeits", *map(percent, report.forfeited.values()))
    return table
