"""Every agent against one of them on the same seeds: an ablation of an agent's components."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from palestra import Interval, InvalidOption, UnknownName
from palestra.kernel.errors import show

from palestra_arena.cost.spending import (
    GameAttempt,
    Spending,
    Task,
    attempts_from,
    currency_of,
    spendings,
)
from palestra_arena.cube.scores import Scorer, returned, scores_of
from palestra_arena.result import GameResult
from palestra_arena.statistics import compare_paired, correct


@dataclass(frozen=True, slots=True)
class Change:
    """An agent's score less the base's, tested over the seeds that both played.

    `p_value` is that of the paired permutation test, `adjusted` after Holm's correction over all
    agents. `cost` is the mean difference of what a game took, `cost_of_pass` the agent's own; both
    are over these seeds, in the currency of the comparison.
    """

    agent: str
    difference: Interval
    p_value: float
    adjusted: float
    cost: float
    cost_of_pass: Interval
    pairs: int


def changes_against(
    base: str,
    results: Sequence[GameResult],
    agents: Sequence[str],
    *,
    scorer: Scorer = returned,
    attempts: Sequence[GameAttempt] = (),
    confidence: float = 0.95,
) -> list[Change]:
    """Every other agent of `agents` against `base`; agents that share no two tasks are left out.

    A task is a seed of an environment. attempts: what counts as success, by default a win.
    """
    if base not in agents:
        raise UnknownName("agent", base, agents)
    tasks: dict[str, dict[Task, float]] = {agent: {} for agent in agents}
    for (agent, label), scores in scores_of(results, agents, scorer).items():
        tasks[agent].update({(label, seed): score for seed, score in scores.by_seed.items()})
    made, games = [], attempts or attempts_from(results)
    for agent in agents:
        shared = sorted(tasks[agent].keys() & tasks[base].keys())
        if agent != base and len(shared) > 1:
            pairs = ([tasks[name][task] for task in shared] for name in (agent, base))
            compared = compare_paired(*pairs, confidence=confidence)
            made.append((agent, compared, _spent(games, {*shared})))
    adjusted = correct([found.p_value for _, found, _ in made])
    return [
        Change(
            agent,
            found.difference,
            found.p_value,
            float(p),
            spent[agent].each - spent[base].each,
            spent[agent].cost_of_pass,
            found.pairs,
        )
        for (agent, found, spent), p in zip(made, adjusted, strict=True)
    ]


def _spent(attempts: Sequence[GameAttempt], tasks: set[Task]) -> dict[str, Spending]:
    """What every agent spent on these tasks, in the currency of all attempts."""
    unit = currency_of(attempts)
    rows = spendings([a for a in attempts if a.task in tasks], unit)
    return {row.agent: row for row in rows}


def recovery_gaps(
    results: Iterable[GameResult], clean: str, failing: str, *, confidence: float = 0.95
) -> dict[str, Interval]:
    """The recovery gap of every agent: its score in `clean` less that in `failing`, by seed.

    clean, failing: labels of environments of one tournament, such as "web/ToolWorld-v0" and
    "web/ToolWorld-v0(outages=error)". Raises `InvalidOption` if an agent did not play the same
    seeds in both.
    """
    games = list(results)
    agents = sorted({agent for game in games for agent in game.match.agents})
    scores = scores_of(games, agents)
    found = {}
    for agent in sorted({agent for agent, label in scores if label in (clean, failing)}):
        one, two = (scores.get((agent, label)) for label in (clean, failing))
        if one is None or two is None or one.by_seed.keys() != two.by_seed.keys():
            raise InvalidOption(
                f"{agent} did not play the same seeds in {show(clean)} and {show(failing)}; play "
                "both environments in one tournament"
            )
        seeds = sorted(one.by_seed)
        first, second = (np.array([one_of.by_seed[s] for s in seeds]) for one_of in (one, two))
        found[agent] = compare_paired(first, second, confidence=confidence).difference
    return found
