"""GovSim (Piatti et al. 2024): a stock lives on what it regrows, and not on one unit more."""

from __future__ import annotations

import palestra
from shown import runs, show, spread

TAKES = (8, 9, 10, 11, 12, 15, 20)
PLAYERS, ROUNDS, CAPACITY, COLLAPSE = 5, 12, 100, 5


def by_arithmetic(take: int) -> int:
    """The rounds that a stock lasts which doubles up to its capacity, less what all take."""
    stock = CAPACITY
    for lived in range(1, ROUNDS + 1):
        stock -= PLAYERS * take
        if stock < COLLAPSE:
            return lived
        stock = min(CAPACITY, 2 * stock)
    return ROUNDS


def measured(agents: list[str], seed: int, **options: object) -> dict[str, float]:
    """What is measured of one society."""
    (record,) = palestra.play("text/Commons-v0", agents=agents, seed=seed, talk=False, **options)
    return palestra.measure(record)


def main() -> None:
    """Print how long societies of equal players last, and what one greedy newcomer does."""
    seeds = runs(__doc__)
    rows = []
    for take in TAKES:
        agents = [f"harvester:policy=fixed,amount={take}"] * PLAYERS
        found = [measured(agents, seed) for seed in seeds]
        lived = spread((one["rounds-survived"] for one in found), 0)
        caught = spread((one["efficiency"] for one in found), 2)
        rows.append([f"{take} each", by_arithmetic(take), lived, caught])
    for name, rule in {
        "10 each": "policy=fixed,amount=10",
        "what regrows": "policy=sustainable",
    }.items():
        agents = [f"harvester:{rule}"] * (PLAYERS - 1) + ["harvester:policy=greedy"]
        found = [measured(agents, seed, newcomer=3) for seed in seeds]
        lived = spread((one["rounds-survived"] for one in found), 0)
        caught = spread((one["efficiency"] for one in found), 2)
        rows.append([f"{name}, a greedy fifth from round 4", "", lived, caught])
    show(["what players take", "rounds, by arithmetic", "here", "efficiency"], rows)


if __name__ == "__main__":
    main()
