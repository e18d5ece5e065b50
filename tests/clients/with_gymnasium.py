"""Gymnasium 1.4.0: `make_vec` with its own statistics of episodes."""

from __future__ import annotations

import gymnasium
import numpy as np
from page import run


def test_the_page() -> None:
    names, _ = run("Gymnasium")
    envs, results = names["envs"], names["results"]
    assert isinstance(envs.unwrapped, gymnasium.vector.VectorEnv)
    assert not isinstance(envs.unwrapped, gymnasium.vector.SyncVectorEnv)
    assert len(results) > 16
    assert envs.episode_count == len(results)
    pays = {"win": 1.0, "loss": -1.0, "draw": 0.0, "truncated": 0.0}
    assert all(paid == pays[outcome] for outcome, paid in results)
    assert {outcome for outcome, _ in results} >= {"win", "loss"}
    assert not envs.unwrapped.batch.mistakes.any()
    assert names["observations"].shape == (16, 2, 6, 7)
    assert np.array_equal(names["infos"]["action_mask"].shape, (16, 7))
