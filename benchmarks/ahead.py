"""Compiling: what the first step of a game costs, and what the vector path leaves of the batch.

A cold step is processor time from `gym.make` to the first step in a process that finds nothing
compiled, over one that finds it all; both sides of a vector row play random moves that were drawn
before they are timed.
"""

from __future__ import annotations

import statistics
import tempfile
import warnings
from functools import partial
from time import process_time
from typing import Any

import gymnasium as gym
import numpy as np
import palestra
from timing import Row, Work, fresh_process, limit

COLD = (
    "games/TicTacToe-v0",
    "games/ConnectFour-v0",
    "games/Holdem-v0",
    "games/Chess-v0",
    "games/Hanabi-v0",
    "grid/Foraging-v0",
    "grid/Harvest-v0",
)
VECTORS = ("games/TicTacToe-v0", "games/ConnectFour-v0", "games/Gomoku-v0", "grid/Foraging-v0")
ENVS, STEPS, REPEATS = 64, 300, 9
FIRST_STEP = """
import gymnasium, os, palestra, time
os.environ["PALESTRA_CACHE"] = {cache!r}
started = time.process_time()
env = gymnasium.make("palestra:{env}")
_, info = env.reset(seed=0)
env.step(int(info["action_mask"].nonzero()[0][0]))
print(time.process_time() - started)
"""


def cold_step(env: str) -> Row:
    """Seconds that compiling takes before the first step."""
    with tempfile.TemporaryDirectory() as cache:
        code = FIRST_STEP.format(cache=cache, env=env)
        cold = float(fresh_process(code))
        warm = statistics.median(float(fresh_process(code)) for _ in range(3))
    return limit(f"{env}, compiled at its first step", cold - warm, at_most=5, unit="CPU s")


def warm_step() -> Row:
    """From `gym.make` to the first step in a process that finds the game compiled ahead."""
    with tempfile.TemporaryDirectory() as cache:
        code = FIRST_STEP.format(cache=cache, env="games/ConnectFour-v0")
        fresh_process(code)
        warm = statistics.median(float(fresh_process(code)) for _ in range(5))
    return limit("gym.make to first step, compiled ahead", warm, at_most=0.4, unit="CPU s")


def vector(env: str) -> Row:
    """`gym.make_vec` beside the batch that it plays on, one seat against random play."""
    ours, batch = vector_steps(env), batch_steps(env)
    ours()
    batch()
    pairs = [(rate(ours), rate(batch)) for _ in range(REPEATS)]
    mine, its = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    return Row(f"{env}, make_vec of {ENVS}", mine, its, ratio, 0.5, "steps/s", "its batch")


def vector_steps(env: str) -> Work:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: Any = gym.make_vec(
            f"palestra:{env}", num_envs=ENVS, vectorization_mode="vector_entry_point"
        )
    _, info = made.reset(seed=0)
    rng, moves = np.random.default_rng(0), []
    for _ in range(STEPS):
        moves.append(drawn(rng, info["action_mask"]))
        *_, info = made.step(moves[-1])

    def play() -> int:
        made.reset(seed=0)
        for actions in moves:
            made.step(actions)
        return ENVS * STEPS

    return play


def batch_steps(env: str) -> Work:
    others = range(1, palestra.game(env).num_players)
    batch = palestra.make(env, view="batch", num_envs=ENVS, seed=0, random_seats=others)
    batch.reset()
    rng, moves = np.random.default_rng(0), []
    for _ in range(STEPS):
        moves.append(drawn(rng, batch.masks))
        batch.step(moves[-1])

    def play() -> int:
        batch.reset(seed=0)
        for actions in moves:
            batch.step(actions)
        return ENVS * STEPS

    return play


def drawn(rng: np.random.Generator, masks: Any) -> Any:
    return (rng.random(masks.shape) * masks).argmax(-1)


def rate(work: Work) -> float:
    started = process_time()
    done = work()
    return done / (process_time() - started)


MEASURES = (
    *(partial(cold_step, env) for env in COLD),
    warm_step,
    *(partial(vector, env) for env in VECTORS),
)
