"""Stable-Baselines3 learns on the batch, masks and all."""

from __future__ import annotations

import numpy as np
import palestra
import pytest
from palestra import InvalidOption

pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")

from palestra.views.sb3 import SB3VecEnv


def test_episodes_end_with_their_last_sight_and_statistics() -> None:
    env = SB3VecEnv("games/TicTacToe-v0", 4, seed=0)
    env.reset()
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(60):
        masks = env.action_masks()
        observations, rewards, done, infos = env.step((rng.random(masks.shape) * masks).argmax(1))
        assert observations.shape == (4, 2, 3, 3)
        for index in done.nonzero()[0]:
            ended += 1
            info = infos[index]
            assert info["episode"]["r"] == rewards[index]
            assert info["terminal_observation"].sum() >= 5
            assert observations[index].sum() <= 1
    assert ended > 20


def test_masks_reach_maskable_ppo() -> None:
    contrib = pytest.importorskip("sb3_contrib", reason="sb3-contrib is not installed")
    import torch

    torch.set_num_threads(1)
    env = SB3VecEnv("games/TicTacToe-v0", 8, seed=0)
    model = contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, seed=0)
    model.learn(1_024)
    assert not env.vector.batch.mistakes.any()


def test_a_past_self_can_be_seated() -> None:
    env = SB3VecEnv("games/ConnectFour-v0", 3, seed=0, seat=1)
    seen = []

    def policy(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
        seen.append(observations.shape)
        return np.asarray(masks.argmax(1))

    env.set_opponents(policy)
    env.reset()
    env.step(env.action_masks().argmax(1))
    assert seen[0] == (3, 2, 6, 7)


def test_all_seats_of_a_turn_based_game_are_refused() -> None:
    with pytest.raises(InvalidOption, match="move at once"):
        SB3VecEnv("games/TicTacToe-v0", 2, seat="all")
    with pytest.raises(InvalidOption, match="'all'"):
        SB3VecEnv("games/TicTacToe-v0", 2, seat="both")


def test_one_policy_plays_every_seat_of_a_simultaneous_game() -> None:
    if "grid/Foraging-v0" not in [spec.id for spec in palestra.specs()]:
        pytest.skip("grid/Foraging-v0 is not installed")
    env = SB3VecEnv("grid/Foraging-v0", 3, seat="all", num_players=4, seed=0)
    assert env.reset().shape[0] == 12
    _, rewards, done, _ = env.step(env.action_masks().argmax(1))
    assert rewards.shape == done.shape == (12,)


def test_a_seat_that_leaves_early_is_reported_once_with_its_own_end() -> None:
    """A car that leaves is paid -1 a step; the other one waits until time is up."""
    env = SB3VecEnv("games/Merge-v0", 2, seat="all", steps=12, compiled=False)
    env.reset()
    reported = []
    for number in range(1, 25):  # two episodes of both lanes
        _, _, done, infos = env.step(np.array([2, 0, 0, 1]))
        for index in np.flatnonzero(done):
            seen = infos[index]["terminal_observation"]
            assert seen[6] == (number - 1) % 12 + 1  # the steps played
            if "episode" in infos[index]:
                end = infos[index]["episode"]
                cut = infos[index]["TimeLimit.truncated"]
                reported.append((number, int(index), end["r"], end["l"], cut))
    first = [
        (5, 0, -5.0, 5, False),
        (10, 3, -10.0, 10, False),
        (12, 1, -12.0, 12, True),
        (12, 2, -12.0, 12, True),
    ]
    again = [(number + 12, *rest) for number, *rest in first]
    assert reported == first + again


@pytest.mark.parametrize("seat", [1, "all"])
def test_frames_reach_the_wrappers_that_record_them(seat: int | str) -> None:
    env = SB3VecEnv("games/Merge-v0", 3, seat=seat, render_mode="rgb_array", compiled=False)
    env.reset()
    env.step(np.arange(env.num_envs) % 3)
    drawn = env.get_images()
    per_episode = 2 if seat == "all" else 1
    assert len(drawn) == env.num_envs == 3 * per_episode
    for index, frame in enumerate(drawn):
        assert frame.dtype == np.uint8
        assert np.array_equal(frame, env.vector.render()[index // per_episode])
    assert not np.array_equal(drawn[0], drawn[-1])
    tiled = env.render("rgb_array")  # Stable-Baselines3's own
    assert tiled.ndim == 3
    assert tiled.size >= sum(frame.size for frame in drawn)
    assert SB3VecEnv("games/Merge-v0", 2, compiled=False).get_images() == [None, None]
