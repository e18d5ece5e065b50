"""Websites in process and in Chromium: steps a second, memory of many sessions, a step's latency.

A step in process is what a learner pays: a random legal number, the move (searches of 10,000
products included), the observation and the mask. In Chromium a step is the action, the page that
follows, and reading back all that stands on the screen.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import gymnasium as gym
import numpy as np
import palestra
from palestra_web.chromium import Chromium
from palestra_web.mirror import Mirror
from timing import REPEATS, Row, fresh_process, limit, rate

STEPS = 5_000
SESSIONS = """
import resource, palestra
from palestra import Rng
first = palestra.make("web/Shop-v0", view="episode", seed=0)
first.game.catalogue.search("lamp")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
episodes = [palestra.make("web/Shop-v0", view="episode", seed=seed) for seed in range(1000)]
for number, episode in enumerate(episodes):
    rng = Rng(number)
    for _ in range(10):
        if not episode.over:
            episode.act({0: episode.game.sample(episode.state, 0, rng)})
            episode.describe(0)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


def walk() -> int:
    """A random walk through `gym.make`."""
    env: Any = gym.make("palestra:web/Shop-v0")
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    for _ in range(STEPS):
        (legal,) = info["action_mask"].nonzero()
        _, _, ended, cut, info = env.step(int(rng.choice(legal)))
        if ended or cut:
            _, info = env.reset()
    return STEPS


def steps_a_second() -> Row:
    """At least 5,000 steps a second on one core."""
    walk()
    found = statistics.median(rate(walk) for _ in range(REPEATS))
    return limit("web/Shop-v0, 5,000 steps through gym.make", 5e3 / found, at_most=1.0, unit="s")


def thousand_sessions() -> Row:
    """Everything a process needs for 1,000 sessions of ten steps each, catalogue and index too."""
    return limit(
        "web/Shop-v0, 1,000 sessions at once",
        float(fresh_process(SESSIONS)),
        at_most=2.0,
        unit="GiB",
    )


class Stopwatch:
    """Seconds of every step that is followed in the browser."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror, self.seconds = mirror, [0.0]

    @palestra.hookimpl
    def palestra_episode_started(self, episode: palestra.Episode) -> None:
        self.mirror.start(episode)

    @palestra.hookimpl
    def palestra_stepped(self, episode: palestra.Episode) -> None:
        started = time.perf_counter()
        self.mirror.follow(episode)
        self.seconds.append(time.perf_counter() - started)


def chromium_step() -> Row:
    """Median milliseconds of a step in Chromium, compared with the page in process each time."""
    with Chromium() as browser, Mirror(browser) as mirror:
        watch = Stopwatch(mirror)
        palestra.play("web/Shop-v0", agents=["oracle-shopper"], episodes=20, live=1, hooks=[watch])
    found = 1e3 * statistics.median(watch.seconds[1:])
    return limit("web/Shop-v0, a step in Chromium, compared", found, at_most=500.0, unit="ms")


MEASURES = (steps_a_second, thousand_sessions, chromium_step)
