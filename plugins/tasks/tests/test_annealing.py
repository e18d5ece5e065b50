"""Neural simulated annealing against Boltzmann's distribution, and learned against vanilla."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from palestra import Rng
from palestra_tasks.annealing.game import NeuralSA
from palestra_tasks.annealing.proposers import LEARNED, falls, lowest_energy


@pytest.mark.slow
def test_uniform_proposals_visit_solutions_as_boltzmann_says() -> None:
    game = NeuralSA(problem="knapsack", size=4, steps=20_000, hot=0.3, cold=0.3)
    state, rng = game.initial_state(5), Rng.seeded(1)
    items = state["items"].tolist()
    energies = {}
    for taken in itertools.product((0, 1), repeat=4):
        weight = sum(w for (w, _), yes in zip(items, taken, strict=True) if yes)
        if weight <= 0.5:
            energies[taken] = -sum(v for (_, v), yes in zip(items, taken, strict=True) if yes)
    total = sum(math.exp(-e / 0.3) for e in energies.values())
    visits: Counter[tuple[int, ...]] = Counter()
    for _ in range(20_000):
        game.step(state, {0: rng.below(4)})
        visits[tuple(state["place"].tolist())] += 1
    assert len(energies) > 2
    for taken, energy in energies.items():
        share = math.exp(-energy / 0.3) / total
        assert visits[taken] / 20_000 == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("problem", ["tsp", "knapsack", "bin-packing", "rosenbrock"])
def test_falls_are_what_greedy_steps_pay(problem: str) -> None:
    game = NeuralSA(problem=problem, size=8, steps=50, hot=1e-6, cold=1e-6)  # type: ignore[arg-type]
    for seed in range(3):
        state, rng = game.initial_state(seed), Rng.seeded(seed)
        for _ in range(30):
            seen = game.observe(state, 0).astype(np.float64)
            fall = falls(game, seen)
            action = rng.below(game.num_actions)
            before = float(state["energy"])
            game.step(state, {0: action})
            drop = before - float(state["energy"])
            # at no temperature only what lowers the energy is accepted
            assert drop == pytest.approx(max(0.0, fall[action]), abs=1e-3, rel=1e-3)


@pytest.mark.parametrize("problem", ["tsp", "knapsack"])
def test_learned_proposals_beat_vanilla_annealing_on_other_sizes(problem: str) -> None:
    game = NeuralSA(problem=problem, size=16, steps=40)  # type: ignore[arg-type]
    seeds = range(7000, 7005)
    learned = lowest_energy(game, LEARNED[problem], seeds)
    assert learned < lowest_energy(game, (0.0, 0.0, 0.0), seeds)


@pytest.mark.parametrize("pays", ["drop", "best"])
def test_rewards_sum_to_the_drop_of_what_is_paid(pays: str) -> None:
    game = NeuralSA(size=8, steps=30, pays=pays)  # type: ignore[arg-type]
    state, rng, total = game.initial_state(2), Rng.seeded(3), 0.0
    while not int(state["over"]):
        done = game.step(state, {0: rng.below(game.num_actions)})
        total += sum(done.rewards.get(0, {}).values())
    reached = float(state["energy" if pays == "drop" else "best"])
    assert total == pytest.approx(float(state["first"]) - reached)
    assert game.scores(state) == (float(state["first"]) - float(state["best"]),)
