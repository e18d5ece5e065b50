"""Agents of `tasks/NeuralSA-v0`: a greedy one, and proposals learned by an evolution strategy.

The learned policy draws proposals from a softmax over a few features of each, linear in its
weights, and so plays instances of every size. `train` finds the weights; those shipped here were
found by `python -m palestra_tasks.annealing.proposers`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import Rng, ScriptedAgent, Turn, agent

from palestra_tasks.annealing.game import STEPS_OF, NeuralSA
from palestra_tasks.draws import normal

Array = NDArray[np.float64]
FEATURES = 3
# By problem: weights of the fall of the energy, of that fall over the temperature, of a bad move
LEARNED: Mapping[str, tuple[float, ...]] = {
    "tsp": (-0.319, 1.781, -0.579),
    "knapsack": (-0.545, 2.75, -1.1),
}


def falls(game: NeuralSA, seen: Array) -> Array:
    """By how much each proposal would lower the energy; -inf where it breaks a constraint.

    seen: the array observation.
    """
    n = game.size
    first, second, place = seen[:n], seen[n : 2 * n], seen[2 * n : 3 * n]
    if game.problem == "tsp":
        return _tour_falls(np.stack([first, second], 1)).ravel()
    if game.problem == "knapsack":
        taken = place > 0
        room = n / 8 - first[taken].sum()
        return np.where(taken, -second, np.where(first <= room, second, -np.inf))
    if game.problem == "bin-packing":
        return _bin_falls(first, place.astype(int)).ravel()
    x, y = float(seen[3 * n]), float(seen[3 * n + 1])
    moved = [(x + s, y) for s in STEPS_OF] + [(x, y + s) for s in STEPS_OF]
    return np.array([_valley(x, y) - _valley(*point) for point in moved])


def _valley(x: float, y: float) -> float:
    return (1 - x) ** 2 + 100 * (y - x * x) ** 2


def _tour_falls(points: Array) -> Array:
    """[i, j]: the fall when the tour is reversed from place i to place j."""
    n = len(points)
    far = np.linalg.norm(points[:, None] - points[None], axis=2)
    before, after = np.roll(np.arange(n), 1), np.roll(np.arange(n), -1)
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    low, high = np.minimum(i, j), np.maximum(i, j)
    a, b = before[low], after[high]
    gone = far[a, low] + far[high, b]
    come = far[a, high] + far[low, b]
    whole_tour = (high - low) >= n - 1
    return np.where((low == high) | whole_tour, 0.0, gone - come)


def _bin_falls(sizes: Array, place: Any) -> Array:
    n = len(sizes)
    loads = np.bincount(place, sizes, minlength=n)
    fall = np.full((n, n), -np.inf)
    for item in range(n):
        home = place[item]
        rest = max(0.0, loads[home] - sizes[item])
        for target in range(n):
            load = loads[target] + sizes[item]
            if target == home:
                fall[item, target] = 0.0
            elif load <= 1:
                emptied = 1.0 if np.count_nonzero(place == home) == 1 else 0.0
                opened = 1.0 if loads[target] == 0 else 0.0
                squares = rest**2 + load**2 - loads[home] ** 2 - loads[target] ** 2
                fall[item, target] = emptied - opened + 0.001 * squares
    return fall


def features(game: NeuralSA, seen: Array) -> Array:
    """[action, feature]: the fall, the fall over the temperature (bounded), whether it is bad."""
    fall = falls(game, seen)
    possible = np.where(np.isfinite(fall), fall, -1.0)
    temperature = max(1e-9, float(seen[3 * game.size + 4]))
    return np.stack([possible, np.clip(possible / temperature, -5, 5), np.isinf(fall)], 1)


def propose(game: NeuralSA, seen: Array, weights: Sequence[float], rng: Rng) -> int:
    """Draw an action from the softmax over weighted features."""
    logits = features(game, seen) @ np.asarray(weights)
    chances = np.exp(logits - logits.max())
    mark = rng.random() * float(chances.sum())
    return min(int(np.searchsorted(np.cumsum(chances), mark)), len(chances) - 1)


@agent("annealing-greedy", kind="scripted")
class GreedyProposer(ScriptedAgent[NeuralSA]):
    """Proposes the change that lowers the energy most."""

    def choose(self, turn: Turn[NeuralSA]) -> int:
        return int(np.argmax(falls(turn.game, turn.observation.astype(np.float64))))


@agent("annealing-learned", kind="learned")
class LearnedProposer(ScriptedAgent[NeuralSA]):
    """Draws proposals from the learned policy, on TSP and knapsack of any size."""

    def choose(self, turn: Turn[NeuralSA]) -> int:
        weights = LEARNED.get(turn.game.problem, LEARNED["tsp"])
        return propose(turn.game, turn.observation.astype(np.float64), weights, self.rng)


def lowest_energy(game: NeuralSA, weights: Sequence[float], seeds: Sequence[int]) -> float:
    """The mean lowest energy that a policy reaches."""
    total = 0.0
    for seed in seeds:
        state, rng = game.initial_state(seed), Rng.seeded(seed, 5)
        while not int(state["over"]):
            seen = game.observe(state, 0).astype(np.float64)
            game.step(state, {0: propose(game, seen, weights, rng)})
        total += float(state["best"])
    return total / len(seeds)


def train(
    game: NeuralSA, *, generations: int = 12, pairs: int = 4, episodes: int = 4, seed: int = 0
) -> tuple[float, ...]:
    """OpenAI's evolution strategy with antithetic draws; returns the weights."""
    rng, weights = Rng.seeded(seed), np.zeros(FEATURES)
    for generation in range(generations):
        seeds = [1000 + generation * episodes + n for n in range(episodes)]
        step = np.zeros(FEATURES)
        for _ in range(pairs):
            noise = np.array([normal(rng) for _ in range(FEATURES)])
            up, down = (
                lowest_energy(game, tuple(weights + sign * noise), seeds) for sign in (1, -1)
            )
            step += noise * np.sign(down - up)
        weights = weights + 1.0 * step / pairs
    return tuple(round(float(w), 3) for w in weights)


if __name__ == "__main__":
    for problem in ("tsp", "knapsack"):
        made = NeuralSA(problem=problem, size=12, steps=60)
        found = train(made)
        print(problem, found, lowest_energy(made, found, range(8)))
        print("vanilla", lowest_energy(made, (0.0,) * FEATURES, range(8)))
