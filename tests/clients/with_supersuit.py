"""SuperSuit 3.11.0: its wrappers of arrays and of vectors, and agents that leave."""

from __future__ import annotations

import contextlib
import io

import numpy as np
import palestra
import pytest
import supersuit
from page import keep_ledger, run
from pettingzoo.test import api_test, parallel_api_test

WRAPPERS = {
    "frame_stack": lambda env: supersuit.frame_stack_v1(env, 3),
    "flatten": supersuit.flatten_v0,
    "pad_observations": supersuit.pad_observations_v0,
    "pad_action_space": supersuit.pad_action_space_v0,
    "dtype": lambda env: supersuit.dtype_v0(env, np.float32),
    "agent_indicator": lambda env: supersuit.agent_indicator_v0(env, type_only=False),
    "delay_observations": lambda env: supersuit.delay_observations_v0(env, 2),
    "normalize_obs": lambda env: supersuit.normalize_obs_v0(supersuit.dtype_v0(env, np.float32)),
    "sticky_actions": lambda env: supersuit.sticky_actions_v0(env, 0.5),
    "clip_reward": supersuit.clip_reward_v0,
    "frame_skip": lambda env: supersuit.frame_skip_v0(env, 2),
}


def test_the_page() -> None:
    names, ledger = run("SuperSuit")
    # 18 numbers in 4 frames, 3 columns that say who sees them; 3 seats in each of 4 copies
    assert names["observations"].shape == (12, 75)
    assert (names["observations"][:, -3:] > 0).tolist() == np.tile(np.eye(3) > 0, (4, 1)).tolist()
    assert names["vector"].num_envs == 12
    assert ledger.games == {"Foraging", "TicTacToe"}
    assert ledger.illegal == 0
    assert ledger.moves > 12 * 55  # all of 60 steps but those in which a copy starts again
    assert names["total"] == pytest.approx(ledger.paid, abs=1e-3)  # tic-tac-toe pays 0 in all


def test_turns_played_by_the_mask_are_legal() -> None:
    with keep_ledger() as ledger:
        env = supersuit.frame_stack_v1(
            palestra.make("games/TicTacToe-v0", view="aec", masks="info"), 2
        )
        env.reset(seed=1)
        for agent in env.agent_iter():
            _, _, terminated, truncated, info = env.last()
            gone = terminated or truncated
            env.step(None if gone else env.action_space(agent).sample(info["action_mask"]))
    assert ledger.moves >= 5
    assert ledger.illegal == 0


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize("env", ["grid/Foraging-v0", "games/Merge-v0", "text/Commons-v0"])
@pytest.mark.parametrize("view", ["aec", "parallel"])
def test_every_wrapper_keeps_pettingzoos_contract(name: str, env: str, view: str) -> None:
    if (name, env, view) == ("agent_indicator", "text/Commons-v0", "aec"):
        return  # it bounds its column by the smallest bound and writes the greatest
    made = WRAPPERS[name](palestra.make(env, view=view, masks="info"))
    with contextlib.redirect_stdout(io.StringIO()):
        (api_test if view == "aec" else parallel_api_test)(made, num_cycles=20)


def test_agents_that_leave_become_black() -> None:
    env = supersuit.black_death_v3(palestra.make("games/Merge-v0", view="parallel"))
    left = 0
    for seed in range(10):
        observations, infos = env.reset(seed=seed)
        agents = list(env.agents)
        alive = set(agents)
        while env.agents:
            actions = {agent: env.action_space(agent).sample() for agent in env.agents}
            observations, rewards, *_ = env.step(actions)
            assert set(observations) == set(rewards) == set(agents)
            for agent in set(agents) - alive:
                assert not observations[agent].any()
                assert rewards[agent] == 0.0
            alive = set(env.unwrapped.agents)
            left += 0 < len(alive) < len(agents)
    assert left  # or nothing was tested


def test_every_seat_of_unequal_seats_fits_one_network_once_padded() -> None:
    from unequal import Unequal

    env = palestra.make(Unequal(), view="parallel")
    shapes = {env.observation_space(agent).shape for agent in env.possible_agents}
    choices = {int(env.action_space(agent).n) for agent in env.possible_agents}
    assert (len(shapes), len(choices)) == (2, 2)
    padded = supersuit.pad_action_space_v0(supersuit.pad_observations_v0(env))
    vector = supersuit.pettingzoo_env_to_vec_env_v1(padded)
    vector = supersuit.concat_vec_envs_v1(vector, 2, num_cpus=0, base_class="gymnasium")
    observations, _ = vector.reset(seed=1)
    total = 0.0
    with keep_ledger() as ledger:
        for _ in range(12):
            actions = np.array([vector.action_space.sample() for _ in range(4)])
            observations, rewards, *_ = vector.step(actions)
            total += float(rewards.sum())
    assert observations.shape == (4, *max(shapes))
    assert ledger.illegal == 0  # the wrapper maps what it added to the last real action
    assert total == pytest.approx(ledger.paid)
