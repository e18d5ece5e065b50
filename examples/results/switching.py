"""MANSA (Mguni et al. 2023): call the costly central learner only where it is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from palestra_agents.learners.switching import Switching
from shown import runs, show, spread
from stages import Climb

UPDATES = 400
ARMS: dict[str, dict[str, Any]] = {
    "independent learners": {"control": "independent"},
    "the central learner always": {"control": "central"},
    "switched, a call costs 0.5": {"cost": 0.5},
    "switched, a call costs 1": {"cost": 1.0},
    "switched, a call costs 2": {"cost": 2.0},
}


def climb(seed: int, updates: int = UPDATES, **arm: Any) -> tuple[float, float, Switching]:
    """What the team earns after training, in what share of states it calls, and the learner."""
    learner = Switching(
        Climb(), compiled=False, num_envs=8, seed=seed, explore_end=0.0, gamma=1.0, **arm
    )
    for step in range(updates):
        learner.update(step / updates)
    learner.called = learner.decided = 0
    returns = [row.sum() for _ in range(10) for row in learner.update(1.0)]
    return float(np.mean(returns)), learner.calls_share, learner


def main() -> None:
    """Print a row for each arm."""
    seeds = runs(__doc__, seeds=10)
    rows = []
    for name, arm in ARMS.items():
        earned, called, _ = zip(*(climb(seed, **arm) for seed in seeds), strict=True)
        rows.append([name, spread(earned, 1), spread(called, 2)])
    show(["climbing game, best 13", "return", "share of states with a call"], rows)


if __name__ == "__main__":
    main()
