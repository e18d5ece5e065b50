"""VSPO's sampler: replaces tasks with equal returns by more rollouts of other tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import palestra
from palestra import EpisodeRecord, InvalidOption, Rng

from palestra_rewards.branching import close_all, open_branch, seats_of_agents
from palestra_rewards.estimators.sampling import replaced_tasks
from palestra_rewards.group import Group
from palestra_rewards.needs import require

APART = 1_000_003  # distance between the agents' seeds of successive rounds


def sampled_rollouts(
    env: Any,
    *,
    agents: Any,
    seeds: Sequence[int],
    n: int,
    round: int = 0,
    learners: Collection[str] | None = None,
    blend: float = 0.5,
    invalid: str = "retry:2",
    max_episode_steps: int | None = None,
    **options: Any,
) -> list[EpisodeRecord]:
    """n rollouts for every seed in `seeds`, with tasks that teach nothing replaced.

    A task whose returns are equal for the learners is left out, and n more rollouts of another are
    played, drawn with probability proportional to its value (`peer_values`: difficulty, and
    `blend` of the spread of returns). If no task has a spread, all are kept. Agents use new random
    numbers in every `round`. The number of records is always n times that of seeds; further
    rollouts of a task are in one group with its first. "Progressive Reward Shaping and VSPO".
    """
    if n < 2 or not seeds or len(set(seeds)) < len(seeds):
        raise InvalidOption(f"seeds must differ and n must be 2 or more, not {seeds} and {n}")
    _, seated = open_branch(env, agents, seeds[0], options)
    seats_of_agents(seated, learners)

    def played(seed: int, draw: int) -> list[EpisodeRecord]:
        start, _ = open_branch(env, seated, seed, options)
        return palestra.rollouts(
            start.game,
            agents=seated,
            n=n,
            seed=(round * APART + draw * len(seeds) * 2 + seed) % 2**31,
            start=start,
            invalid=invalid,
            max_episode_steps=max_episode_steps,
        )

    try:
        first = [played(seed, 0) for seed in seeds]
        records = [record for several in first for record in several]
        group = Group.of(records, agents=learners)
        require("vspo", ("success",), group, {})
        chosen = replaced_tasks(group, Rng.seeded(round), blend=blend)
        if (chosen == np.arange(chosen.size)).all():
            return records
        found: list[EpisodeRecord] = []
        for task, kept in enumerate(chosen.tolist()):
            found += first[task] if kept == task else played(seeds[kept], 1 + task)
        return found
    finally:
        close_all(seated)
