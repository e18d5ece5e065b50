"""Stable-Baselines3 and sb3-contrib 2.9.2: one environment, many in one, every seat of a game."""

from __future__ import annotations

from page import run


def test_the_page() -> None:
    names, ledger = run("Stable-Baselines3")
    assert ledger.games == {"ConnectFour"}  # the others are batches
    assert ledger.illegal == 0
    assert ledger.moves > 128  # the learner's, and the opponents' between them
    assert names["masked"].num_timesteps == 128
    assert names["batched"].num_timesteps == 1024
    assert names["shared"].num_timesteps == 1536
    assert names["foragers"].num_envs == 8 * 3
    assert not names["many"].vector.batch.mistakes.any()
    ended = names["batched"].ep_info_buffer
    assert ended
    assert {episode["r"] for episode in ended} <= {-1.0, 0.0, 1.0}
    assert all(episode["l"] >= 7 for episode in ended)  # four in a row take seven moves of two
