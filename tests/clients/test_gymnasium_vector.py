"""Gymnasium's tests of vector environments, made again for ours: the contract of 1.4.0.

A game without chance against opponents without chance is the same in our batch and in Gymnasium's
`SyncVectorEnv` over our gym view: the one is compared with the other.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics, RecordVideo

TICTACTOE = "palestra:games/TicTacToe-v0"
FORAGING = "palestra:grid/Foraging-v0"


def plays_first(observations: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The agent "first", for a batch."""
    return masks.argmax(axis=1)


def batch(mode: AutoresetMode | str, num_envs: int = 3, name: str = TICTACTOE, **more: Any) -> Any:
    options = {"autoreset_mode": mode, "opponents": plays_first, "compiled": False, **more}
    return gymnasium.make_vec(name, num_envs, "vector_entry_point", **options)


def sync(mode: AutoresetMode, num_envs: int = 3, **more: Any) -> SyncVectorEnv:
    options = {"opponents": "first", "compiled": False, **more}
    settings = {"autoreset_mode": mode}
    made = gymnasium.make_vec(TICTACTOE, num_envs, "sync", vector_kwargs=settings, **options)
    assert isinstance(made, SyncVectorEnv)
    return made


def first_legal(masks: np.ndarray, step: int) -> np.ndarray:
    """Every lane another legal cell, so that their episodes differ in length."""
    legal = [np.flatnonzero(mask) for mask in masks]
    return np.array([cells[(step + lane) % len(cells)] for lane, cells in enumerate(legal)])


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_batch_plays_as_gymnasiums_own_vector_environment(
    mode: AutoresetMode, seat: int
) -> None:
    ours, theirs = batch(mode, seat=seat), sync(mode, seat=seat)
    for space in ("observation_space", "action_space", "single_observation_space"):
        assert getattr(ours, space) == getattr(theirs, space)
    (seen, infos), (wanted, others) = ours.reset(seed=0), theirs.reset(seed=0)
    done = np.zeros(3, bool)
    ended = 0
    for step in range(25):
        assert np.array_equal(seen, wanted)
        assert seen in ours.observation_space
        assert np.array_equal(infos["action_mask"], others["action_mask"])
        if mode is AutoresetMode.DISABLED and done.any():
            options = {"reset_mask": done}
            (seen, infos) = ours.reset(options=options)
            (wanted, others) = theirs.reset(options=options)
            assert np.array_equal(seen, wanted)
            masks = np.stack([env.unwrapped.action_masks() for env in theirs.envs])
        else:
            masks = infos["action_mask"]
        actions = first_legal(masks, step)
        seen, *results, infos = ours.step(actions)
        wanted, *expected, others = theirs.step(actions)
        for got, want in zip(results, expected, strict=True):
            assert np.array_equal(got, want)
            assert got.dtype == want.dtype
        done = results[1] | results[2]
        ended += int(done.sum())
        if mode is AutoresetMode.SAME_STEP and done.any():
            assert data_equivalence(infos["_final_obs"], others["_final_obs"])
            assert data_equivalence(infos["final_obs"], others["final_obs"])
            finals = others["final_info"]
            assert np.array_equal(infos["outcome"][done], finals["outcome"][done])
            masks = infos["final_info"]["action_mask"]
            assert np.array_equal(masks[done], finals["action_mask"][done])
        elif done.any():
            assert np.array_equal(infos["outcome"][done], others["outcome"][done])
    assert ended > 6
    ours.close()
    theirs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_mode_is_told_whichever_way_it_is_named(mode: AutoresetMode) -> None:
    for name in (mode, mode.value, mode.name.lower()):
        assert batch(name).metadata["autoreset_mode"] is mode


@pytest.mark.parametrize("num_envs", [1, 3])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_its_statistics_are_those_of_gymnasiums_wrapper(mode: AutoresetMode, num_envs: int) -> None:
    env = RecordEpisodeStatistics(batch(mode, num_envs, FORAGING, max_episode_steps=9))
    _, infos = env.reset(seed=3)
    episodes = 0
    for step in range(40):
        *_, infos = env.step(first_legal(infos["action_mask"], step))
        if "episode" in infos:
            ended = infos["_episode"]
            episodes += int(ended.sum())
            assert np.array_equal(ended, infos["_final_return"])
            assert infos["episode"]["r"][ended] == pytest.approx(infos["final_return"][ended])
            assert np.array_equal(infos["episode"]["l"][ended], infos["final_length"][ended])
    assert env.episode_count == episodes >= 4 * num_envs
    env.close()


def test_infos_are_told_by_environment_too() -> None:
    env = DictInfoToList(batch("same_step", name=FORAGING, max_episode_steps=3))
    _, infos = env.reset(seed=0)
    assert [set(info) for info in infos] == [{"action_mask"}] * 3
    for _ in range(3):
        *_, infos = env.step(np.stack([info["action_mask"] for info in infos]).argmax(1))
    assert all({"action_mask", "final_obs", "outcome"} <= set(info) for info in infos)


def test_seeds_are_kept_until_others_are_given() -> None:
    env = batch("next_step")
    env.reset(seed=42)
    assert env.unwrapped.np_random_seed == (42, 43, 44)
    env.reset()
    assert env.unwrapped.np_random_seed == (42, 43, 44)
    env.reset(seed=[7, 5, 9])
    assert env.unwrapped.np_random_seed == (7, 5, 9)


def test_a_partial_reset_leaves_the_others_and_their_seeds_alone() -> None:
    env = batch("disabled", name=FORAGING)
    dealt, infos = env.reset(seed=[0, 1, 2])
    for step in range(3):
        stepped, *_, infos = env.step(first_legal(infos["action_mask"], step))
    chosen = np.array([True, True, False])
    again, _ = env.reset(seed=[0, 1, 0], options={"reset_mask": chosen})
    assert np.array_equal(again[:2], dealt[:2])
    assert np.array_equal(again[2], stepped[2])
    assert env.unwrapped.np_random_seed == (0, 1, 2)
    with pytest.raises(AssertionError):
        np.testing.assert_array_equal(stepped[:2], dealt[:2])  # or nothing was reset


@pytest.mark.parametrize(
    "mask",
    [[True], [True] * 4, [[True] * 3], [False] * 3, [1, 1, 0], [1.0, 1.0, 0.0], "all"],
)
def test_what_is_no_reset_mask_is_refused(mask: Any) -> None:
    env = batch("disabled")
    env.reset(options={"reset_mask": np.array([True, True, True])})
    for expected in (ValueError, TypeError):
        with pytest.raises(expected, match=r"must be of shape \(3,\) and type bool"):
            env.reset(options={"reset_mask": np.array(mask)})


@pytest.mark.parametrize(
    "actions",
    [
        [0, 1],
        [0, 1, 2, 3],
        0,
        None,
        ["0", "1", "2"],
        [0.0, 1.0, 2.0],
        [0.5, 1, 2],
        [np.nan, 1, 2],
        [0, 1, 9],
        [-1, 0, 1],
        [True, False, True],
        [[0], [1], [2]],
        [None, 1, 2],
    ],
)
def test_actions_that_are_none_are_refused_before_anything_moves(actions: Any) -> None:
    env = batch("next_step")
    env.reset(seed=0)
    before = env.unwrapped.batch.lanes.copy()
    with pytest.raises((ValueError, TypeError)):
        env.step(actions)
    assert np.array_equal(env.unwrapped.batch.lanes, before)
    env.step(env.action_space.sample())


def test_what_was_returned_is_not_written_again() -> None:
    env = batch("next_step", num_envs=1)
    first, infos = env.reset(seed=0)
    kept, mask = first.copy(), infos["action_mask"].copy()
    env.step(np.array([4]))
    assert np.array_equal(first, kept)
    assert np.array_equal(infos["action_mask"], mask)


def test_episodes_are_filmed(tmp_path: Any) -> None:
    env = batch("next_step", num_envs=2, render_mode="rgb_array")
    film = RecordVideo(
        env, str(tmp_path / "films"), step_trigger=lambda step: step == 0, video_length=4
    )
    _, infos = film.reset(seed=0)
    for step in range(6):
        *_, infos = film.step(first_legal(infos["action_mask"], step))
    film.close()
    (made,) = (tmp_path / "films").glob("*.mp4")
    assert made.stat().st_size > 1000


def test_a_game_of_words_comes_in_gymnasiums_own() -> None:
    env = gymnasium.make_vec("palestra:text/Commons-v0", num_envs=2)
    assert isinstance(env, SyncVectorEnv)
    _, infos = env.reset(seed=1)
    ended = 0
    for step in range(60):
        *_, terminated, truncated, infos = env.step(first_legal(infos["action_mask"], step))
        ended += int((terminated | truncated).sum())
    assert ended
    assert isinstance(env, VectorEnv)
    env.close()
