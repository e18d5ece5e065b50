"""Stable-Baselines3 PPO learns tic-tac-toe against random play, through `gym.make` alone.

An illegal move forfeits, so the policy first learns the rules, then the game. With masks
(see maskable_self_play.py) it need not.
"""

from __future__ import annotations

import argparse

import gymnasium
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy

ENV = "palestra:games/TicTacToe-v0"


def main(steps: int) -> None:
    torch.set_num_threads(1)
    env = gymnasium.make(ENV, seat=0, opponents="random")
    model = PPO("MlpPolicy", env, n_steps=512, seed=0)
    before, _ = evaluate_policy(model, model.get_env(), n_eval_episodes=100)
    model.learn(steps, progress_bar=False)
    after, _ = evaluate_policy(model, model.get_env(), n_eval_episodes=100)
    print(
        f"mean return against random play: {before:.2f} before, {after:.2f} after {steps:,} steps"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40_000)
    main(parser.parse_args().steps)
