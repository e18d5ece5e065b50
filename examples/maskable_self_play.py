"""MaskablePPO learns Connect Four against copies of its past selves.

`SB3VecEnv` plays 64 games at once in compiled code and hands the masks to sb3-contrib; the other
seat is a function of arrays, here the policy as it was at the start of the round.
"""

from __future__ import annotations

import argparse
import copy
from typing import Any

import numpy as np
import torch
from palestra.views.sb3 import SB3VecEnv
from sb3_contrib import MaskablePPO

ENV, ROUNDS = "games/ConnectFour-v0", 8


def past_self(policy: Any) -> Any:
    """A frozen copy of a policy as an opponent: observations and masks to actions."""
    frozen = copy.deepcopy(policy).eval()

    def play(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        actions, _ = frozen.predict(observations, action_masks=masks, deterministic=False)
        return np.asarray(actions)

    return play


def wins(model: MaskablePPO, episodes: int = 200) -> float:
    """The share of games won against random play from the first seat."""
    env = SB3VecEnv(ENV, 50, seed=1, opponents="random")
    observations, results = env.reset(), []
    while len(results) < episodes:
        actions, _ = model.predict(observations, action_masks=env.action_masks())
        observations, rewards, done, _ = env.step(actions)
        results += (rewards[done] > 0).tolist()
    return float(np.mean(results[:episodes]))


def main(steps: int) -> None:
    torch.set_num_threads(1)
    env = SB3VecEnv(ENV, 64, seed=0, opponents="random")
    model = MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=512, gamma=0.99, seed=0)
    for number in range(ROUNDS):
        model.learn(steps // ROUNDS, reset_num_timesteps=number == 0)
        print(f"round {number}: {wins(model):.0%} won against random play", flush=True)
        env.set_opponents(past_self(model.policy))
        model._last_obs = None  # games under way were begun against somebody else


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400_000)
    main(parser.parse_args().steps)
