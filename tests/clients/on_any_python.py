"""What scripts/other_pythons.py plays on every interpreter: each view, compiled and not."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import numpy as np
import palestra
import pytest

GAMES = ["games/TicTacToe-v0", "games/KuhnPoker-v0", "grid/Foraging-v0", "text/Commons-v0"]


@pytest.mark.parametrize("name", GAMES)
def test_a_record_of_random_play_replays(name: str) -> None:
    (record,) = palestra.play(name, agents="random", episodes=1, seed=3)
    assert list(palestra.replay(record).returns) == pytest.approx(list(record.returns))


@pytest.mark.parametrize("name", GAMES)
def test_both_pettingzoo_views_keep_the_contract(name: str) -> None:
    from pettingzoo.test import api_test, parallel_api_test

    api_test(palestra.make(name, view="aec"), num_cycles=20)
    parallel_api_test(palestra.make(name, view="parallel"), num_cycles=20)


@pytest.mark.parametrize("compiled", [True, False])
def test_compiled_and_interpreted_batches_are_the_same(compiled: bool) -> None:
    env: Any = gymnasium.make_vec(f"palestra:{GAMES[0]}", num_envs=3, compiled=compiled)
    _, infos = env.reset(seed=1)
    paid = [env.step(infos["action_mask"].argmax(1))[1].tolist()]
    for _ in range(12):
        _, rewards, *_, infos = env.step(env.unwrapped.action_masks().argmax(1))
        paid.append(rewards.tolist())
    other: Any = gymnasium.make_vec(f"palestra:{GAMES[0]}", num_envs=3, compiled=not compiled)
    _, infos = other.reset(seed=1)
    assert paid[0] == other.step(infos["action_mask"].argmax(1))[1].tolist()


def test_saved_lanes_of_a_game_of_words_go_on_alike() -> None:
    batch = palestra.make("text/Commons-v0", view="batch", num_envs=2)
    batch.reset(seed=1)
    batch.step(batch.random_actions())
    saved = pickle.loads(pickle.dumps(batch.save()))
    batch.step(np.array(batch.random_actions()))
    first = batch.observations.copy()
    batch.load(saved)
    batch.step(np.array(batch.random_actions()))
    assert np.array_equal(batch.observations, first)
