"""VSPO's sampler: tasks whose rollouts do not differ make room for more of those that do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import palestra
from palestra import EpisodeRecord, InvalidOption, Rng

from palestra_rewards.branching import close_all, opened, seats_of_agents
from palestra_rewards.estimators.sampling import replaced_tasks
from palestra_rewards.group import Group
from palestra_rewards.needs import require

APART = 1_000_003  # seeds of agents in one round and in the next


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
    """n rollouts of every start in `seeds`, in which each task is one to learn from.

    A task whose returns are all alike for the learners is left out, and n more rollouts are played
    of another, drawn with chances in proportion to its value (`peer_values`: difficulty, and
    `blend` of the spread of returns). Where no task has a spread, all are kept as they are.
    Agents draw otherwise in every `round`. As many records come back as were asked for; the second
    n of a task stand in one group with the first. "Progressive Reward Shaping and VSPO".
    """
    if n < 2 or not seeds or len(set(seeds)) < len(seeds):
        raise InvalidOption(f"give seeds that differ and an n of 2 or more, not {seeds} and {n}")
    _, seated = opened(env, agents, seeds[0], options)
    seats_of_agents(seated, learners)

    def played(seed: int, draw: int) -> list[EpisodeRecord]:
        start, _ = opened(env, seated, seed, options)
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
