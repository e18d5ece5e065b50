"""Gymnasium's tests of vector environments, made again for ours: the contract of 1.4.0.

A game without chance against opponents without chance is the same in our batch and in Gymnasium's
`SyncVectorEnv` over our gym view: the one is compared with the other.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import palestra
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import vector as wrappers
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

TICTACTOE = "palestra:games/TicTacToe-v0"
FORAGING = "palestra:grid/Foraging-v0"
AGED = not hasattr(wrappers, "RecordVideo")  # Gymnasium 1.1, which counts a step too few


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


@pytest.mark.parametrize("limit", [None, 1, 3])
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_the_batch_plays_as_gymnasiums_own_vector_environment(
    mode: AutoresetMode, seat: int, limit: int | None
) -> None:
    """With a limit, it counts the learner's own steps: some episodes end in the last of them."""
    more = {"seat": seat, "max_episode_steps": limit}
    ours, theirs = batch(mode, **more), sync(mode, **more)
    for space in ("observation_space", "action_space", "single_observation_space"):
        assert getattr(ours, space) == getattr(theirs, space)
    (seen, infos), (wanted, others) = ours.reset(seed=0), theirs.reset(seed=0)
    done = np.zeros(3, bool)
    ended = both = 0
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
        both += int((results[1] & results[2]).sum())
        said = results[1]  # Gymnasium's TimeLimit gives no word for an outcome
        assert (infos["outcome"][done & ~said] == "truncated").all() if done.any() else True
        if mode is AutoresetMode.SAME_STEP and done.any():
            assert data_equivalence(infos["_final_obs"], others["_final_obs"])
            assert data_equivalence(infos["final_obs"], others["final_obs"])
            finals = others["final_info"]
            assert np.array_equal(infos["outcome"][said], finals["outcome"][said])
            masks = infos["final_info"]["action_mask"]
            assert np.array_equal(masks[done], finals["action_mask"][done])
        elif done.any():
            assert np.array_equal(infos["outcome"][said], others["outcome"][said])
    assert ended > 6
    assert bool(both) == (limit == 3)
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
            counted = infos["final_length"][ended] - (AGED and mode is AutoresetMode.SAME_STEP)
            assert np.array_equal(infos["episode"]["l"][ended], counted)
    assert env.episode_count == episodes >= 4 * num_envs
    env.close()


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("opponents", ["random", plays_first])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_what_was_paid_before_the_first_turn_is_paid_with_it(
    mode: AutoresetMode, opponents: Any, limit: int | None
) -> None:
    """A team is paid for the first player's card before the second player has had a turn."""
    more = {"opponents": opponents, "seat": 1, "max_episode_steps": limit}
    env = batch(mode, 6, "palestra:games/MiniHanabi-v0", **more)
    _, infos = env.reset(seed=0)
    paid, ended, early = np.zeros(6), 0, 0
    for _ in range(60):
        _, rewards, terminated, truncated, infos = env.step(infos["action_mask"].argmax(axis=1))
        paid += rewards
        for lane in np.flatnonzero(terminated | truncated):
            ended += 1
            assert paid[lane] == pytest.approx(infos["final_return"][lane])
            paid[lane] = 0.0
        early += int((env.unwrapped.batch.lanes["early_reward"] != 0).any())
    assert ended > 50
    assert early or opponents is plays_first  # who plays outside the compiled loop


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
    with pytest.raises(ValueError, match=r"options must be a mapping or None"):
        env.reset(options=mask)  # type: ignore[arg-type]


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


@pytest.mark.skipif(AGED, reason="new in Gymnasium 1.2")
def test_episodes_are_filmed(tmp_path: Any) -> None:
    env = batch("next_step", num_envs=2, render_mode="rgb_array")
    film = wrappers.RecordVideo(
        env, str(tmp_path / "films"), step_trigger=lambda step: step == 0, video_length=4
    )
    _, infos = film.reset(seed=0)
    for step in range(6):
        *_, infos = film.step(first_legal(infos["action_mask"], step))
    film.close()
    (made,) = (tmp_path / "films").glob("*.mp4")
    assert made.stat().st_size > 1000


@pytest.mark.parametrize("opponents", ["random", plays_first])
@pytest.mark.parametrize("name", [TICTACTOE, FORAGING])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_limit_counts_the_learners_steps_and_not_the_moves_of_all_seats(
    mode: AutoresetMode, name: str, opponents: Any
) -> None:
    shaped = {"rewards": ["env"]} if opponents == "random" else {}  # a batch of its own
    env = batch(mode, 4, name, max_episode_steps=2, opponents=opponents, **shaped)
    _, infos = env.reset(seed=1)
    for _ in range(3):
        *_, infos = env.step(first_legal(infos["action_mask"], 0))
        assert "outcome" not in infos
        *_, terminated, truncated, infos = env.step(first_legal(infos["action_mask"], 0))
        assert truncated.all()
        assert not terminated.any()
        assert (infos["outcome"] == "truncated").all()
        if mode is AutoresetMode.NEXT_STEP:
            _, rewards, terminated, truncated, infos = env.step(np.zeros(4, int))
            assert not rewards.any()
            assert not (terminated | truncated).any()
        elif mode is AutoresetMode.DISABLED:
            _, infos = env.reset(options={"reset_mask": np.ones(4, bool)})


def test_a_learner_of_every_seat_has_the_same_limit() -> None:
    from palestra.views.sb3 import SB3VecEnv

    env = SB3VecEnv(FORAGING, 2, seat="all", max_episode_steps=3, compiled=False, seed=1)
    env.reset()
    for step in range(6):
        *_, done, infos = env.step(env.action_masks().argmax(axis=1))
        assert done.all() == (step % 3 == 2)
        assert all(info["TimeLimit.truncated"] for info in infos if info)


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


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize(
    ("name", "obs"),
    [("text/Commons-v0", None), ("text/Commons-v0", "text"), ("games/Chess-v0", "text")],
)
def test_a_game_of_words_takes_the_same_settings(
    mode: AutoresetMode, name: str, obs: str | None
) -> None:
    """And is what `vectorization_mode="sync"` makes of them."""
    options = {"obs": obs, "max_episode_steps": 2, "opponents": "first"}
    ours = gymnasium.make_vec(f"palestra:{name}", 2, autoreset_mode=mode, **options)
    theirs = gymnasium.make_vec(
        f"palestra:{name}", 2, "sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    assert ours.metadata["autoreset_mode"] is mode
    for env in (ours, theirs):
        env.action_space.seed(3)
    assert data_equivalence(ours.reset(seed=4), theirs.reset(seed=4))
    ended = 0
    for _ in range(5):
        answers = [env.step(env.action_space.sample()) for env in (ours, theirs)]
        assert data_equivalence(*answers)
        ended += int((answers[0][2] | answers[0][3]).sum())
        if mode is AutoresetMode.DISABLED and ended:
            break
    assert ended
    ours.close()
    theirs.close()


def test_statistics_of_words_go_on_in_lanes_that_are_not_reset() -> None:
    """Gymnasium's own `SyncVectorEnv` takes the reset mask away from its wrapper."""
    env = RecordEpisodeStatistics(
        gymnasium.make_vec("palestra:text/Negotiation-v0", 3, autoreset_mode="disabled")
    )
    env.reset(seed=[4, 9, 2])
    returns, lengths, unequal = np.zeros(3), np.zeros(3, int), False
    for step in range(80):
        masks = np.stack([view.unwrapped.action_masks() for view in env.unwrapped.envs])
        _, rewards, terminated, truncated, infos = env.step(first_legal(masks, step))
        returns += rewards
        lengths += 1
        done = terminated | truncated
        unequal |= done.any() and not done.all()
        if done.any():
            assert np.allclose(infos["episode"]["r"][done], returns[done])
            assert np.array_equal(infos["episode"]["l"][done], lengths[done])
            returns[done], lengths[done] = 0, 0
            env.reset(options={"reset_mask": done})
    assert unequal


def test_a_setting_that_is_none_is_refused() -> None:
    with pytest.raises(LookupError, match="unknown observation kind 'pixels'"):
        batch("next_step", obs="pixels")
    with pytest.raises(ValueError, match="at least 1 or None, not 0"):
        batch("next_step", max_episode_steps=0)
    with pytest.raises(LookupError, match="unknown auto-reset mode 'later'"):
        gymnasium.make_vec("palestra:text/Commons-v0", 2, autoreset_mode="later")


WRONG = (None, "12", [0], [0, 0, 0], [0, None], [0, "1"], [0, 1.0], [0, 10**6], [-1, 0])


@pytest.mark.parametrize("actions", WRONG, ids=repr)
@pytest.mark.parametrize("name", ["games/TicTacToe-v0", "text/Negotiation-v0"])
def test_no_lane_moves_if_one_action_is_outside_the_space(name: str, actions: Any) -> None:
    envs: Any = gymnasium.make_vec(f"palestra:{name}", num_envs=2)
    fresh: Any = gymnasium.make_vec(f"palestra:{name}", num_envs=2)
    for one in (envs, fresh):
        _, infos = one.reset(seed=3)
    with pytest.raises(palestra.InvalidAction):
        envs.step(actions)
    moves = infos["action_mask"].argmax(1)
    (seen, paid, *_), (other, other_paid, *_) = envs.step(moves), fresh.step(moves)
    assert np.array_equal(seen, other)
    assert np.array_equal(paid, other_paid)


def test_text_views_take_texts_alone() -> None:
    envs: Any = gymnasium.make_vec("palestra:games/TicTacToe-v0", num_envs=2, obs="text")
    envs.reset(seed=1)
    for actions in ([5, 5], ["5", 5], "55"):
        with pytest.raises(palestra.InvalidAction):
            envs.step(actions)
    envs.step(["5", "5"])


def test_attributes_of_the_environments_are_those_of_gymnasiums_own() -> None:
    options: dict[str, Any] = {"render_mode": "rgb_array"}
    ours, theirs = (make(AutoresetMode.NEXT_STEP, **options) for make in (batch, sync))
    for env in (ours, theirs):
        env.reset(seed=5)
        env.step(np.array([0, 1, 2]))
    for name in ("seat", "observation_space", "action_space", "render_mode"):
        assert ours.get_attr(name) == theirs.get_attr(name) == ours.call(name)
    for mine, other in zip(ours.call("action_masks"), theirs.call("action_masks"), strict=True):
        assert np.array_equal(mine, other)
    for mine, other in zip(ours.call("render"), theirs.call("render"), strict=True):
        assert np.array_equal(mine, other)
    for mine, other in zip(ours.get_attr("episode"), theirs.get_attr("episode"), strict=True):
        assert mine.describe(0) == other.describe(0)
    assert [game.rules_for(0) for game in ours.get_attr("game")] == [ours.game.rules_for(0)] * 3
    assert [spec.id for spec in ours.get_attr("spec")] == ["games/TicTacToe-v0"] * 3

    for env in (ours, theirs):
        env.set_attr("weight", 0.5)
        env.set_attr("rank", [1, 2, 3])
        assert env.get_attr("weight") == (0.5,) * 3
        assert env.get_attr("rank") == (1, 2, 3)
        with pytest.raises(ValueError, match=r"2.* for 3 environments"):
            env.set_attr("rank", [1, 2])
        with pytest.raises(AttributeError, match="nothing"):
            env.get_attr("nothing")
    with pytest.raises(palestra.InvalidOption, match="lanes of one batch"):
        ours.set_attr("seat", 1)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_infos_of_arrays_have_the_same_entries_at_every_step(mode: AutoresetMode) -> None:
    env = gymnasium.make_vec(TICTACTOE, 3, autoreset_mode=mode, infos="arrays")
    _, infos = env.reset(seed=1)
    over = np.zeros(3, bool)
    for _ in range(12):
        assert set(infos) == {"action_mask", "_action_mask"}
        assert infos["action_mask"].shape == (3, 9)
        if mode == AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})
        *_, over, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    with pytest.raises(palestra.InvalidOption, match="infos"):
        gymnasium.make_vec(TICTACTOE, 3, infos="some")
