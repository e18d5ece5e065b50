"""EnvGen (Zala et al. 2024): worlds made for what a student cannot do yet teach it faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import palestra
from shown import runs, show, spread

AGENTS = {
    "the original world alone": "envgen-original",
    "worlds drawn at random": "random",
    "worlds that start before the first weak skill": "envgen-adaptive",
}
EPISODES = 10


WORLDS = ({"original": "crafting"}, {"original": "heist", "practice": 30})


def gain(world: Mapping[str, Any], agent: str, seed: int) -> float:
    """How much of the skills a student learns in the original world, mean of some students."""
    found = [
        record.returns[0]
        for record in palestra.stream(
            "tasks/EnvGen-v0",
            agents=agent,
            episodes=EPISODES,
            seed=seed * EPISODES,
            **world,
        )
    ]
    return sum(found) / len(found)


def main() -> None:
    """Print a row for each way to choose the worlds that a student trains in."""
    seeds = runs(__doc__)
    rows = [
        [name, *(spread((gain(world, agent, s) for s in seeds), 2) for world in WORLDS)]
        for name, agent in AGENTS.items()
    ]
    show(["gain in success", "crafting", "heist"], rows)


if __name__ == "__main__":
    main()
