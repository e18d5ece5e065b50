"""STAX: novelty in a learnt behaviour space, on a real maze with one reward."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra_rewards.arrays import Floats
from palestra_rewards.learnt.behaviours import Autoencoder, Stax, novelty, open_loop

pytest.importorskip("torch")


def test_a_linear_autoencoder_reaches_the_error_of_the_principal_components() -> None:
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) * 3 + 0.3 * rng.normal(size=(60, 6))
    centred = seen - seen.mean(axis=0)
    scaled = centred / np.abs(centred).max()
    singular = np.linalg.svd(scaled, compute_uv=False)
    least = (singular[2:] ** 2).sum() / scaled.size  # what two components cannot express
    coder = Autoencoder(6, size=2, hidden=0, rate=0.05)
    assert coder.fit(seen, steps=500) == pytest.approx(least, rel=0.02)
    assert coder.encode(seen).shape == (60, 2)


def test_novelty_is_the_mean_distance_to_the_nearest() -> None:
    others = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    found = novelty(np.array([[0.0, 0.0], [3.0, 0.0]]), others, nearest=2)
    assert found.tolist() == pytest.approx([0.5, (3 + np.sqrt(10)) / 2])
    assert novelty(others, np.zeros((0, 2))).tolist() == [np.inf] * 3


def arm(genome: Floats) -> tuple[Floats, float]:
    """An arm of six joints whose angles are small: the places of its joints, and no reward."""
    angles = np.cumsum(0.25 * genome)
    return np.concatenate([np.cumsum(np.cos(angles)), np.cumsum(np.sin(angles))]), 0.0


def cells(ends: Any) -> int:
    """How many cells of a grid over the arm's reach its hand was in."""
    return len({(int(seen[5] // 0.75), int(seen[11] // 0.75)) for seen in ends})


def test_exploration_covers_more_than_random_policies() -> None:
    seen: list[Floats] = []

    def evaluate(genome: Floats) -> tuple[Floats, float]:
        seen.append(arm(genome)[0])
        return seen[-1], 0.0

    search = Stax(evaluate, 6, population=12, kept=6, steps=10, spread=0.8, seed=1)
    found = search.search(400)
    assert found.evaluations == len(seen) == 400
    assert found.rewarded == []
    rng = np.random.default_rng(1)
    drawn = [arm(rng.normal(size=6))[0] for _ in range(400)]
    assert cells(seen) > 1.3 * cells(drawn)


def maze() -> Any:
    return palestra.make(
        "games/FrozenLake-v0", view="episode", seed=0, layout=("SFF", "FHF", "FFG"), slippery=False
    )


def test_a_search_finds_the_goal_of_a_real_maze() -> None:
    evaluate, numbers = open_loop(maze(), 5)
    found = Stax(evaluate, numbers, population=8, kept=3, steps=5, seed=2).search(300)
    assert found.best is not None
    seen, reward = evaluate(found.best.genome)
    assert reward == found.best.reward == 1.0
    assert np.array_equal(seen, found.best.seen)


def test_emitters_improve_what_exploration_was_paid_for() -> None:
    """A reward for few: 0 outside a disc of the plane, and up to 1 at its middle."""
    middle = np.array([2.5, -1.0, 0.5])
    played: list[float] = []

    def evaluate(genome: Floats) -> tuple[Floats, float]:
        apart = float(np.linalg.norm(genome - middle))
        played.append(max(0.0, 1 - apart / 2))
        return genome, played[-1]

    search = Stax(evaluate, 3, population=8, kept=3, steps=20, hidden=0, spread=0.6, seed=3)
    found = search.search(600)
    assert found.evaluations == len(played) == 600
    assert found.best is not None
    assert found.best.reward > 0.85
    first = next(reward for reward in played if reward > 0)
    assert first < 0.5 < found.best.reward
    assert [one.reward for one in found.rewarded] == sorted(played, reverse=True)[
        : len(found.rewarded)
    ]
    assert min(one.reward for one in found.rewarded) > 0


def test_the_same_seed_finds_the_same_and_wrong_games_are_named() -> None:
    evaluate, numbers = open_loop(maze(), 6)
    one, two = (Stax(evaluate, numbers, population=4, steps=5, seed=7).search(40) for _ in range(2))
    assert all(
        np.array_equal(a.genome, b.genome)
        for a, b in zip(one.repertoire, two.repertoire, strict=True)
    )
    with pytest.raises(InvalidOption, match="one player"):
        open_loop(palestra.make("games/TicTacToe-v0", view="episode", seed=0), 3)
    with pytest.raises(InvalidOption, match="at least 1"):
        Stax(evaluate, 0)
