"""Novelty by random distillation, and NovelD's rise of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Transition
from palestra_rewards.steps.distilled import RandomDistillation


class Places:
    """A game whose states are vectors, each its own key."""

    def anchor(self, state: Any, seat: int) -> bytes:
        return bytes(repr(list(state)), "utf-8")

    def observe(self, state: Any, seat: int) -> Any:
        return state


GAME: Any = Places()


def step(before: Any, after: Any) -> Transition:
    return Transition(GAME, before, {0: 0}, after, 0, False, 1.0)


def linear_error(shaper: RandomDistillation, row: np.ndarray) -> float:
    """By numpy, from the weights that the shaper says it has."""
    random, trained = shaper.state()["weights"]
    wanted, found = (np.array(w) @ row + np.array(b) for w, b in (random, trained))
    return float(((wanted - found) ** 2).mean())


def test_the_bonus_is_the_error_of_a_linear_prediction() -> None:
    shaper = RandomDistillation(hidden=0, weight=2.0)
    one, other = np.array([1.0, 0, 0]), np.array([0, 2.0, 0])
    shaper.error(one)
    first = 2 * linear_error(shaper, one)
    assert shaper(step(other, one))["rnd"] == pytest.approx(first)
    for _ in range(400):
        shaper(step(other, one))
    assert shaper(step(other, one))["rnd"] < 0.01 * first
    assert shaper(step(one, other))["rnd"] > 0.1  # nobody has been there


def test_noveld_pays_the_rise_and_once_a_play_through() -> None:
    shaper = RandomDistillation(hidden=0, rise=0.5, first=True).begin()
    old, new = np.array([1.0, 0]), np.array([0, 1.0])
    for _ in range(300):
        shaper.learn(old)
    expected = linear_error(shaper, new) - 0.5 * linear_error(shaper, old)
    assert expected > 0
    assert shaper(step(old, new))["rnd"] == pytest.approx(expected)
    assert shaper(step(old, new))["rnd"] == 0
    assert shaper(step(new, old))["rnd"] == 0  # it falls
    again = shaper.begin()
    assert 0 < again(step(old, new))["rnd"] < expected


def test_foragers_find_less_and_less_that_is_new() -> None:
    """Two seats, unequal levels; the lifetime's networks are kept by one environment."""
    env = palestra.make("grid/Foraging-v0", view="episode", seed=0, rewards=["rnd:rate=0.003"])
    paid = []
    for number in range(6):
        env.reset(0)
        rng = palestra.Rng.seeded(number)
        while not env.over:
            env.act({seat: env.sample(seat, rng) for seat in env.to_act})
        paid.append(np.mean(env.returns) / env.steps_played)
    assert paid[-1] < 0.5 * paid[0]


def test_what_was_learnt_is_carried_on() -> None:
    shaper = RandomDistillation(hidden=4)
    row = np.array([1.0, 2.0])
    for _ in range(20):
        shaper.learn(row)
    again = RandomDistillation(hidden=4)
    again.load(json.loads(json.dumps(shaper.state())))
    assert again.error(row) == shaper.error(row)
    with pytest.raises(palestra.InvalidOption, match="another shape"):
        RandomDistillation(hidden=5).load(shaper.state())
