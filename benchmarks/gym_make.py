"""What a user types first: `gym.make(id)` and its steps, against random play, beside CartPole.

The moves are drawn beforehand and played again from the same seed, so that only `reset` and `step`
are measured, on either side. As in Gymnasium's own benchmark, only the first reset has a seed.
"""

from __future__ import annotations

import random
import statistics
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import gymnasium as gym
import palestra
from gymnasium.utils import performance
from palestra import ArrayGame
from timing import Row, Work, compare, rate

STEPS = 3_000
CARTPOLE = "CartPole-v1"
SHOWN = (
    "games/TicTacToe-v0",
    "games/ConnectFour-v0",
    "games/Gomoku-v0",
    "games/Hex-v0",
    "games/Chess-v0",
    "games/Holdem-v0",
    "games/Sanctions-v0",
    "grid/Foraging-v0",
    "grid/PathFinding-v0",
    "grid/Pursuit-v0",
    "grid/XLand-v0",
    "grid/Kitchen-v0",
)


def steps_of(env_id: str) -> Work:
    """Play episodes of one environment whose moves are known before they are timed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = gym.make(env_id)
    episodes = list(drawn_moves(env))

    def play() -> int:
        steps = 0
        for seed, moves in episodes:
            env.reset(seed=seed)
            for move in moves:
                env.step(move)
            steps += len(moves)
        return steps

    return play


def drawn_moves(env: Any) -> Any:
    """Seeds and random legal moves of whole episodes, some thousands of steps in all."""
    draw, steps = random.Random(0), 0
    seed: int | None = 0  # the later ones, None, follow from it
    while steps < STEPS:
        _, info = env.reset(seed=seed)
        moves: list[int] = []
        over = False
        while not over and steps + len(moves) < STEPS:
            mask = info.get("action_mask")
            legal = range(env.action_space.n) if mask is None else mask.nonzero()[0]
            moves.append(int(draw.choice(legal)))
            _, _, terminated, truncated, info = env.step(moves[-1])
            over = terminated or truncated
        yield seed, moves
        steps += len(moves)
        seed = None


def against_cartpole(env_id: str) -> Row:
    """One environment beside CartPole: as quick with two seats, 0.3 times with more."""
    seats = palestra.game(env_id).num_players
    return compare(
        f"{env_id}, gym.make, {seats} seats",
        steps_of(f"palestra:{env_id}"),
        steps_of(CARTPOLE),
        target=1.0 if seats <= 2 else 0.3,
        unit="steps/s",
        against=CARTPOLE,
    )


@cache
def survey() -> tuple[str, ...]:
    """Every array game of one or two seats, the slowest beside CartPole first."""
    found: dict[str, float] = {}
    cartpole = steps_of(CARTPOLE)
    for spec in palestra.specs():
        game = palestra.game(spec.id)
        if isinstance(game, ArrayGame) and game.num_players <= 2:
            ours = steps_of(f"palestra:{spec.id}")
            ours()  # fills what later episodes find ready
            found[spec.id] = statistics.median(rate(ours) / rate(cartpole) for _ in range(3))
    ids = tuple(sorted(found, key=lambda env_id: found[env_id]))
    print(", ".join(f"{env_id} {found[env_id]:.2f}" for env_id in ids))
    return ids


def ranked(name: str, share: float) -> Any:
    """The game that stands at a share of the way from the slowest to the fastest."""

    def measure() -> Row:
        ids = survey()
        row = against_cartpole(ids[round(share * (len(ids) - 1))])
        return replace(row, name=f"{name} of {len(ids)} for one or two: {row.name}")

    measure.__name__ = name
    return measure


def by_gymnasium(env_id: str) -> Any:
    """Gymnasium's own measure, which draws any action: for games in which all of them are legal."""

    def steps(name: str) -> Work:
        env = gym.make(name)
        return lambda: int(performance.benchmark_step(env, target_duration=1, seed=0))

    def measure() -> Row:
        return compare(
            f"{env_id}, Gymnasium's benchmark_step",
            steps(f"palestra:{env_id}"),
            steps(CARTPOLE),
            target=1.0,
            unit="steps/s",
            against=CARTPOLE,
        )

    measure.__name__ = "by_gymnasium"
    return measure


def named(env_id: str) -> Any:
    def measure() -> Row:
        return against_cartpole(env_id)

    measure.__name__ = env_id
    return measure


MEASURES = (
    *(named(env_id) for env_id in SHOWN),
    ranked("slowest", 0.0),
    ranked("median", 0.5),
    ranked("fastest", 1.0),
    by_gymnasium("games/FrozenLake-v0"),
    by_gymnasium("grid/Kitchen-v0"),
)
