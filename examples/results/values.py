"""QMIX (Rashid et al. 2018): a monotonic mix of values finds what a sum of values cannot say."""

from __future__ import annotations

from typing import Literal

import torch
from palestra_agents.learners.values import ValueLearner
from shown import runs, show, spread
from stages import TwoStep

Algo = Literal["qmix", "vdn"]
PAPER: dict[Algo, tuple[float, ...]] = {
    "qmix": (0.0, 1.0, 1.0, 8.0),
    "vdn": (-1.87, 2.31, 2.33, 6.51),
}
UPDATES = 250


def two_step(algo: Algo, seed: int) -> torch.Tensor:
    """What a learner, under full exploration, holds joint actions for worth: (stages, 2, 2)."""
    learner = ValueLearner(
        TwoStep(),
        algo=algo,
        compiled=False,
        seed=seed,
        num_envs=8,
        batch_size=64,
        memory=400,
        hidden=32,
        mixing=8,
        explore_end=1.0,
        learning_rate=8e-3,
        warm_up=64,
        target_every=25,
    )
    for _ in range(UPDATES):
        learner.update()
    states = torch.eye(3).unsqueeze(1).expand(3, 2, 3)
    with torch.no_grad():
        own = learner.values(states, torch.ones(3, 2, 2, dtype=torch.bool))
        pairs = [torch.stack([own[:, 0, a], own[:, 1, b]], 1) for a in (0, 1) for b in (0, 1)]
        teams = [learner.team(pair, states, learner.mixer) for pair in pairs]
    return torch.stack(teams, 1).reshape(3, 2, 2)


def main() -> None:
    """Print the table of the paper beside what is learnt here."""
    seeds = runs(__doc__)
    rows: list[list[object]] = [["the game pays", *(f"{paid:.2f}" for paid in PAPER["qmix"])]]
    for algo, paper in PAPER.items():
        found = [two_step(algo, seed)[2].flatten().tolist() for seed in seeds]
        if algo == "vdn":
            rows.append([f"{algo}, paper", *paper])
        rows.append([f"{algo}, here", *(spread(cell, 2) for cell in zip(*found, strict=True))])
    show(["value of the joint action", "A, A", "A, B", "B, A", "B, B"], rows)


if __name__ == "__main__":
    main()
