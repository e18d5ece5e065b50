"""Rollouts for tests: arrays of a known shape, and small oracles in plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra_rewards import Group


def outcomes(*returns: float, turns: int = 1, **more: Any) -> Group:
    """Single-player rollouts of one task, paid on their last turn."""
    size = len(returns)
    rewards = np.zeros((size, turns))
    rewards[:, -1] = returns
    return Group.from_arrays(
        episode=np.repeat(np.arange(size), turns), rewards=rewards.ravel(), **more
    )


def drawn(
    seed: int, episodes: int = 12, tasks: int = 3, seats: int = 2, longest: int = 6, **more: Any
) -> Group:
    """Random rollouts with every column and fact that an estimator can ask for."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(seats, longest + 1, episodes)
    episode = np.repeat(np.arange(episodes), lengths)
    seat = np.concatenate([np.arange(n) % seats for n in lengths])
    size, lines = episode.size, int(sum(min(n, seats) for n in lengths))
    columns: dict[str, Any] = {
        "episode": episode,
        "seat": seat,
        "turn": np.concatenate([np.arange(n) // seats for n in lengths]),
        "rewards": rng.normal(size=size).round(3),
        "task": rng.integers(0, tasks, episodes),
        "state": rng.integers(0, 4, size),
        "action": rng.integers(0, 3, size),
        "tokens": rng.integers(1, 9, size),
        "logprob": -rng.random(size),
        "seconds": rng.random(size) + 0.1,
        "cost": rng.random(size),
        "success": rng.integers(0, 2, lines),
        "truncated": rng.integers(0, 2, episodes),
        "parent": np.where(np.arange(episodes) < 4, -1, rng.integers(0, 4, episodes)),
        "facts": {
            "values": rng.normal(size=size),
            "process": rng.random(size),
            "implicit": rng.normal(size=size),
            "ratio": rng.random(size) + 0.5,
            "mode": list(rng.choice(["instant", "reasoning"], episodes)),
            "progress": rng.random(episodes),
            "local": rng.normal(size=lines),
            "branched_at": np.zeros(episodes, dtype=int),
            "verdicts": rng.random(size) < 0.5,
        },
    }
    return Group.from_arrays(**columns | more)
