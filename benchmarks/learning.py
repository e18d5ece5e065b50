"""How soon PPO learns: `palestra train`'s own trainer, three seeds, one curve a seed.

python benchmarks/learning.py       # writes results/learning.json and results/learning.png

Connect Four: the share of games won against random play (target: 95 % within five minutes).
Foraging: four foragers who see two cells around them; the share of the food they collect.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import matplotlib
import palestra
import torch
from palestra_agents.ppo.policy import Settings
from palestra_agents.ppo.trainer import Trainer
from palestra_agents.ppo.training import wins_against_random
from timing import machine, versions

SEEDS = (0, 1, 2)
TASKS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "games/ConnectFour-v0": ({}, {}, 6_000_000),
    "grid/Foraging-v0": ({"num_players": 4, "sight": 2}, {"gamma": 0.97}, 1_500_000),
}
POINTS = 12
HERE = Path(__file__).parent / "results"


def curve(env: str, seed: int) -> list[dict[str, float]]:
    """Steps, seconds of training and score, `POINTS` times over one run."""
    options, settings, steps = TASKS[env]
    trainer = Trainer(env, options, Settings(seed=seed, **settings))
    points, spent, mark = (
        [{"steps": 0, "seconds": 0.0, "score": score(trainer)}],
        0.0,
        steps // POINTS,
    )
    while trainer.steps < steps:
        started = perf_counter()
        trainer.update(trainer.steps / steps)
        spent += perf_counter() - started
        if trainer.steps >= mark or trainer.steps >= steps:
            mark += steps // POINTS
            points.append({"steps": trainer.steps, "seconds": spent, "score": score(trainer)})
            print(env, seed, points[-1], flush=True)
    return points


def score(trainer: Trainer) -> float:
    if trainer.game.payoffs == "zero-sum":
        return wins_against_random(trainer.network, trainer.env, trainer.options, 1_000)[0]
    return collected(trainer)


@torch.no_grad()
def collected(trainer: Trainer, episodes: int = 512) -> float:
    """Mean return of all seats together over whole episodes, sampled from the policy."""
    batch = palestra.make(
        trainer.env, view="batch", num_envs=episodes, autoreset="disabled", **trainer.options
    )
    batch.reset(777)
    while not batch.lanes["over"].all():
        batch.step(trainer.policy(batch.observations, batch.masks))
    return float(batch.returns.sum(1).mean())


def draw(curves: dict[str, dict[str, list[dict[str, float]]]]) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(curves), figsize=(6 * len(curves), 4), squeeze=False)
    for place, (env, runs) in zip(axes[0], curves.items(), strict=True):
        for seed, points in runs.items():
            times = [point["seconds"] for point in points]
            place.plot(times, [point["score"] for point in points], label=f"seed {seed}")
        place.set(title=env, xlabel="seconds of training, one core", ylim=(0, 1))
        place.set_ylabel("won against random" if "Four" in env else "share of food collected")
        place.grid(alpha=0.3)
        place.legend()
    figure.tight_layout()
    figure.savefig(HERE / "learning.png", dpi=110)


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    curves = {env: {str(s): curve(env, s) for s in SEEDS} for env in names or TASKS}
    result = {
        "machine": machine(),
        "versions": versions("torch", "numpy", "numba"),
        "curves": curves,
    }
    (HERE / "learning.json").write_text(json.dumps(result, indent=2) + "\n")
    draw(curves)


if __name__ == "__main__":
    main(sys.argv[1:])
