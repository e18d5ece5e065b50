"""Neural simulated annealing against Boltzmann's distribution, and learned against vanilla."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import palestra
import pytest
from palestra import Rng
from palestra_tasks.annealing.game import PROBLEMS, NeuralSA, lowest_possible
from palestra_tasks.annealing.proposers import LEARNED, falls, lowest_energy
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist


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


def lowest_by_listing(game: NeuralSA, items: list[list[float]]) -> float:
    """The lowest energy of all solutions, listed one by one."""
    n = game.size
    if game.problem == "tsp":
        orders = itertools.permutations(range(1, n))
        return min(
            sum(math.dist(items[a], items[b]) for a, b in itertools.pairwise((0, *order, 0)))
            for order in orders
        )
    if game.problem == "knapsack":
        chosen = itertools.product((0, 1), repeat=n)
        pairs = ([item for item, yes in zip(items, some, strict=True) if yes] for some in chosen)
        fits = [some for some in pairs if sum(w for w, _ in some) <= n / 8]
        return min(-sum(v for _, v in some) for some in fits)
    found = math.inf
    for places in itertools.product(range(n), repeat=n):
        loads = [0.0] * n
        for (size, _), place in zip(items, places, strict=True):
            loads[place] += size
        if max(loads) <= 1:
            found = min(found, sum(1 - 0.001 * load**2 for load in loads if load))
    return found


@pytest.mark.parametrize(("problem", "size"), [("tsp", 7), ("knapsack", 9), ("bin-packing", 5)])
@pytest.mark.parametrize("seed", range(6))
def test_no_solution_is_below_the_bound_of_shares(problem: str, size: int, seed: int) -> None:
    game = NeuralSA(problem=problem, size=size, pays="share")  # type: ignore[arg-type]
    state = game.initial_state(seed)
    best = lowest_by_listing(game, state["items"].tolist())
    bound, first = float(lowest_possible(game.config, state)), float(state["first"])
    assert bound <= best + 1e-9
    assert best - bound < 0.5 * (first - bound)  # and it is no bound of which nobody comes near
    assert not state["trial"].any()


@pytest.mark.parametrize("seed", range(3))
def test_the_spanning_tree_of_the_bound_is_scipys(seed: int) -> None:
    game = NeuralSA(size=20, pays="share")
    state = game.initial_state(seed)
    far = cdist(state["items"], state["items"])
    tree = minimum_spanning_tree(far)
    found = float(lowest_possible(game.config, state))
    assert found == pytest.approx(float(tree.sum() + tree.data.max()))


@pytest.mark.parametrize("problem", PROBLEMS)
def test_shares_are_paid_alike_for_all_sizes_and_problems(problem: str) -> None:
    means = []
    for size, steps in ((8, 200), (24, 900)):
        game = NeuralSA(problem=problem, size=size, steps=steps, pays="share")  # type: ignore[arg-type]
        paid = []
        for seed in range(4):
            episode = palestra.Episode(game, seed)
            while not episode.over:
                seen = episode.observation(0).astype(np.float64)
                episode.act({0: int(np.argmax(falls(game, seen)))})
            paid.append(episode.returns[0])
            assert episode.outcome is not None
            assert episode.outcome.scores[0] == pytest.approx(paid[-1], abs=1e-4)
        assert all(0 < one <= 1 + 1e-6 for one in paid)
        means.append(sum(paid) / len(paid))
    assert means[0] == pytest.approx(means[1], abs=0.15)


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
