"""Lifelong pathfinding: to plan for all (RHCR) beats to plan alone (Follower), on the same maps."""

from __future__ import annotations

import palestra
from shown import runs, show, spread

AGENTS = ("rhcr", "follower", "follower:congestion=0")


def throughput(split: str, agent: str, seed: int) -> float:
    """Goals that all players together reach in a step."""
    (record,) = palestra.play(
        "grid/PathFinding-v0", split=split, agents=agent, seed=seed, max_steps=128
    )
    return palestra.measure(record)["throughput"]


def main() -> None:
    """Print a row for each kind of map, with the differences on the same map."""
    seeds = runs(__doc__, seeds=12)
    rows = []
    for split in ("random", "maze", "held-out-warehouse"):
        found = [[throughput(split, agent, seed) for agent in AGENTS] for seed in seeds]
        cells = [spread(column, 2) for column in zip(*found, strict=True)]
        cells += [spread((run[i] - run[i + 1] for run in found), 2) for i in (0, 1)]
        rows.append([split, *cells])
    show(["goals a step", *AGENTS, "1st - 2nd", "2nd - 3rd"], rows)


if __name__ == "__main__":
    main()
