"""MANSA (Mguni et al. 2023): call the costly central learner only where it is needed."""

from __future__ import annotations

from typing import Any

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


def climbed(seed: int, arm: dict[str, Any]) -> tuple[float, float]:
    """What the team earns at the end of training, and in what share of states it calls."""
    learner = Switching(
        Climb(), compiled=False, num_envs=8, seed=seed, explore_end=0.0, gamma=1.0, **arm
    )
    for step in range(UPDATES):
        learner.update(step / UPDATES)
    learner.called = learner.decided = 0
    returns = [row.sum() for _ in range(10) for row in learner.update(1.0)]
    return float(sum(returns) / len(returns)), learner.calls_share


def main() -> None:
    """Print a row for each arm."""
    seeds = runs(__doc__, seeds=10)
    rows = []
    for name, arm in ARMS.items():
        found = [climbed(seed, arm) for seed in seeds]
        earned, called = zip(*found, strict=True)
        rows.append([name, spread(earned, 1), spread(called, 2)])
    show(["climbing game, best 13", "return", "share of states with a call"], rows)


if __name__ == "__main__":
    main()
