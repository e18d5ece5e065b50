"""Thousands of resets leave nothing behind."""

from __future__ import annotations

import gc
import tracemalloc
from statistics import median
from time import process_time

import numpy as np

from palestra.rng import Rng
from palestra.testing.subject import Subject, random_actions, require
from palestra.views.gym import GymView

RESETS = 10_000
GROUPS = 10
GROWTH = 64 * 1024  # bytes that ten thousand resets may leave behind
SLOWER = 5.0  # how much slower the last tenth may be; leak-induced growth is far beyond it


def resets_leave_nothing(subject: Subject) -> None:
    """10,000 resets without growth in memory, observation length or time a step."""
    obs = "text" if "text" in subject.spec.observations else "array"
    env = GymView(subject.game, obs=obs)
    lengths, times, sizes = [], [], []
    _group(env, 50)  # warm caches
    tracemalloc.start()
    try:
        for _ in range(GROUPS):
            started = process_time()
            lengths.append(_group(env, RESETS // GROUPS))
            times.append(process_time() - started)
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    require(max(lengths) == min(lengths), f"the first observation changes length: {lengths}")
    grown = sizes[-1] - sizes[1]
    require(grown < GROWTH, f"{RESETS} resets left {grown} bytes behind")
    slow = median(times[-3:]) / max(1e-9, median(times[:3]))
    require(slow < SLOWER, f"a reset takes {slow:.1f} times longer after {RESETS} resets")


def _group(env: GymView, resets: int) -> int:
    """Reset and move many times from one seed; returns the size of the first observation."""
    size = 0
    for number in range(resets):
        observation, _ = env.reset(seed=5)
        size = observation.size if isinstance(observation, np.ndarray) else len(observation)
        if number % 25 == 0 and env.seat in env.episode.to_act:
            action = random_actions(env.episode, Rng(1))[env.seat]
            state = env.episode.state
            index = env.game.index_of(action)
            text = env.game.action_text(state, env.seat, action)
            env.step(text if env.obs == "text" else index)
    return size
