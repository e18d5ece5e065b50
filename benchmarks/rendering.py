"""Pictures a second, ours at 480 x 480 and those of peers at their own size, and what records cost.

A picture is drawn after every move, so that nothing is drawn twice; the moves are not counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter
from typing import Any

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

import gymnasium as gym
import palestra
from palestra import Episode, Rng
from palestra.records.record import record_episode
from timing import REPEATS, Row

FRAMES = 200


def alternate(name: str, ours: Callable[[], float], peer: Callable[[], float], **row: Any) -> Row:
    """Medians of pictures a second, and of their ratio, in turn."""
    ours()
    peer()
    pairs = [(ours(), peer()) for _ in range(REPEATS)]
    middle = REPEATS // 2
    mine, theirs = sorted(a for a, _ in pairs)[middle], sorted(b for _, b in pairs)[middle]
    ratio = sorted(a / b for a, b in pairs)[middle]
    return Row(name, mine, theirs, ratio, row["target"], "frames/s", row["against"])


def drawn(env: Any, again: Callable[[], Any], move: Callable[[], bool]) -> float:
    """Pictures a second of an environment that is moved on between them."""
    again()
    took = 0.0
    for _ in range(FRAMES):
        if move():
            again()
        started = perf_counter()
        env.render()
        took += perf_counter() - started
    return FRAMES / took


def ours(name: str, **options: Any) -> Callable[[], float]:
    env = gym.make(f"palestra:{name}", render_mode="rgb_array", **options)
    rng = Rng(0)

    def move() -> bool:
        mask = env.unwrapped.action_masks()  # type: ignore[attr-defined]
        _, _, ended, cut, _ = env.step(rng.choice(mask.nonzero()[0].tolist()))
        return ended or cut

    return lambda: drawn(env, lambda: env.reset(seed=1), move)


def connect_four() -> Row:
    from pettingzoo.classic import connect_four_v3

    env = connect_four_v3.env(render_mode="rgb_array")
    rng = Rng(0)

    def move() -> bool:
        observation, _, ended, cut, _ = env.last()
        if ended or cut:
            return True
        env.step(rng.choice(observation["action_mask"].nonzero()[0].tolist()))
        return False

    return alternate(
        "Connect Four, rgb_array",
        ours("games/ConnectFour-v0", seat=0, opponents="random"),
        lambda: drawn(env, lambda: env.reset(seed=1), move),
        target=5,
        against="PettingZoo connect_four_v3",
    )


def grid() -> Row:
    import minigrid  # noqa: F401  registers its environments

    env = gym.make("MiniGrid-Empty-8x8-v0", render_mode="rgb_array")
    rng = Rng(0)

    def move() -> bool:
        _, _, ended, cut, _ = env.step(rng.below(3))
        return ended or cut

    return alternate(
        "8x8 grid (Foraging), rgb_array",
        ours("grid/Foraging-v0", seat=0, opponents="random"),
        lambda: drawn(env, lambda: env.reset(seed=1), move),
        target=3,
        against="MiniGrid-Empty-8x8-v0",
    )


def records() -> Row:
    """Writing the record of an episode, as a share of playing it."""
    played, wrote = 0.0, 0.0
    for seed in range(20):
        episode = Episode(palestra.game("games/ConnectFour-v0"), seed)
        agents = [palestra.make_agent("minimax:depth=2") for _ in range(2)]
        started = perf_counter()
        while not episode.over:
            (seat,) = episode.to_act
            (decision,) = agents[seat].act([palestra.Turn(episode, seat)])
            episode.act({seat: decision.action})
        middle = perf_counter()
        record_episode(episode)
        played, wrote = played + middle - started, wrote + perf_counter() - middle
    share = wrote / played
    name = "writing a record, over playing: Connect Four, minimax to depth 2"
    return Row(name, share, 0.2, 0.2 / share, 1.0, "of the time", "its bound")


MEASURES = (connect_four, grid, records)
