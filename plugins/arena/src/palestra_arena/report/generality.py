"""Agents compared over the tasks of a tournament by percentiles of normalised scores."""

from __future__ import annotations

from collections.abc import Iterable

from palestra import InvalidOption
from palestra.quoting import one_line
from rich.table import Table
from rich.text import Text

from palestra_arena.result import GameResult
from palestra_arena.statistics.generality import (
    PERCENTILES,
    Generality,
    generality,
    pareto_front,
    shares_of_best,
)

Task = tuple[str, int]


def generality_of(results: Iterable[GameResult]) -> tuple[dict[str, Generality], int, int]:
    """Every agent's generality, the number of tasks used, and the number left out.

    A task is a seed of an environment, its score an agent's mean return over its games there, or
    where rivals are also paid less than 0 the share of them it beat. Only tasks that every agent
    has played count.
    """
    games = [result for result in results if result.counts]
    lossy = {
        result.match.environment.label
        for result in games
        if min(result.scores) < 0 and len(result.scores) > 1
    }
    made: dict[Task, dict[str, list[float]]] = {}
    for result in games:
        match, label = result.match, result.match.environment.label
        of_task = made.setdefault((label, match.seed), {})
        scores = result.points if label in lossy else result.scores
        for agent, score in zip(match.agents, scores, strict=True):
            of_task.setdefault(agent, []).append(score)
    agents = sorted({agent for played in made.values() for agent in played})
    means = {
        task: [sum(played[agent]) / len(played[agent]) for agent in agents]
        for task, played in made.items()
        if len(played) == len(agents)
    }
    if not means:
        raise InvalidOption("percentiles compare agents on one seed, and none was played by all")
    for (label, seed), paid in means.items():
        if min(paid) < 0:
            raise InvalidOption(
                f"percentiles need returns from 0 up; {label} paid {min(paid):g} on seed {seed}. "
                "Choose another environment with --env, or shift its scores and call "
                "palestra_arena.statistics.shares_of_best"
            )
    shares = shares_of_best(list(zip(*means.values(), strict=True)))
    found = {agent: generality(row) for agent, row in zip(agents, shares, strict=True)}
    return found, len(means), len(made) - len(means)


def generality_table(found: dict[str, Generality]) -> Table:
    """An agent a row, by their percentiles from the lowest on; a star where nobody is better."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("agent", no_wrap=True)
    for name in ("participation", *(f"p{cut}" for cut in PERCENTILES)):
        table.add_column(name, justify="right")
    front = pareto_front(found)
    best = sorted(found, key=lambda agent: (found[agent].percentiles, agent), reverse=True)
    for agent in best:
        share, cuts = found[agent]
        cells = (f"{share:.2f}", *(f"{cut:.2f}" for cut in cuts))
        table.add_row(Text(one_line(agent) + " *" * (agent in front)), *cells)
    return table
