"""How fast tasks start and are played by random agents, without a model: a table in Markdown.

python benchmarks/tasks.py
"""

from __future__ import annotations

import statistics
import time

import palestra
from palestra import Rng

SEEDS = 20
SECONDS = 1.5  # of play for each environment


def resets(env: str) -> float:
    """The median processor time of a new episode, in milliseconds; every seed is another."""
    game, spent = palestra.game(env), []
    palestra.Episode(game, 999)
    for seed in range(SEEDS):
        begun = time.process_time()
        palestra.Episode(game, seed)
        spent.append(time.process_time() - begun)
    return 1000 * statistics.median(spent)


def turns(env: str) -> float:
    """Turns a second with random legal actions, new episodes and descriptions counted."""
    game, rng, played, seed = palestra.game(env), Rng.seeded(1), 0, 1000
    begun = time.process_time()
    while time.process_time() - begun < SECONDS:
        seed += 1
        episode = palestra.Episode(game, seed)
        while not episode.over:
            turn = {}
            for seat in episode.to_act:
                episode.describe(seat)
                turn[seat] = episode.sample(seat, rng)
            episode.act(turn)
            played += 1
    return played / (time.process_time() - begun)


def main() -> None:
    """Print a row for every environment of the namespace."""
    print("| id | reset, ms | random turns a second |\n|---|---|---|")
    for spec in sorted(palestra.specs(), key=lambda spec: spec.id):
        if spec.namespace == "tasks":
            print(f"| `{spec.id}` | {resets(spec.id):.2f} | {turns(spec.id):,.0f} |", flush=True)


if __name__ == "__main__":
    main()
