"""Learning from existing code: threads, and SB3 through ours and through SuperSuit."""

from __future__ import annotations

import os
from typing import Any

import palestra
from timing import Row, compare

ROWS, STEPS = 16_384, 30
GRID = {"num_players": 4, "sight": 2}


def two_threads() -> Row:
    """Needs two free cores: do not pin this suite to one."""
    return compare(
        f"grid/Foraging-v0, batch of {ROWS}, two threads",
        batch(threads=2),
        batch(threads=1),
        target=1.6,
        unit="agent steps/s",
        against="one thread",
    )


def batch(threads: int) -> Any:
    made = palestra.make("grid/Foraging-v0", view="batch", num_envs=ROWS, threads=threads, **GRID)
    made.reset(0)

    def play() -> int:
        for _ in range(STEPS):
            made.random_actions()
            made.step()
        return ROWS * STEPS * GRID["num_players"]

    return play


def ppo_against_supersuit() -> Row:
    """Steps a second of SB3's PPO, sampling and learning, on 64 environments of four seats."""
    return compare(
        "SB3 PPO on grid/Foraging-v0",
        ppo(ours),
        ppo(theirs),
        target=3,
        unit="steps/s",
        against="the same PPO through SuperSuit",
    )


GRIDS, HORIZON = 16, 64


def ours() -> Any:
    from palestra.views.sb3 import SB3VecEnv

    return SB3VecEnv("grid/Foraging-v0", GRIDS, seat="all", seed=0, **GRID)


def theirs() -> Any:
    import supersuit

    env = palestra.make("grid/Foraging-v0", view="parallel", masks="off", **GRID)
    env = supersuit.multiagent_wrappers.pad_observations_v0(env)
    env = supersuit.pettingzoo_env_to_vec_env_v1(env)
    return supersuit.concat_vec_envs_v1(env, GRIDS, num_cpus=0, base_class="stable_baselines3")


def ppo(make: Any) -> Any:
    import torch
    from stable_baselines3 import PPO

    torch.set_num_threads(1)
    env = make()
    model = PPO("MlpPolicy", env, n_steps=HORIZON, batch_size=1024, n_epochs=2, device="cpu")
    steps = HORIZON * env.num_envs

    def learn() -> int:
        model.learn(steps, reset_num_timesteps=False)
        return steps

    return learn


MEASURES = (two_threads, ppo_against_supersuit) if (os.cpu_count() or 1) > 1 else ()
