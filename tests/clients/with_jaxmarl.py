"""JaxMARL 0.2.0 on jax 0.10.2: its wrappers under jit, vmap and scan, against single episodes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxmarl.wrappers.baselines import CTRolloutManager
from page import run
from palestra import InvalidOption, UnknownName
from palestra.kernel.episode import Episode
from palestra.views.jaxmarl import JaxMARLEnv

FORAGING, KITCHEN, TICTACTOE = "grid/Foraging-v0", "grid/Kitchen-v0", "games/TicTacToe-v0"
GAMES = [(FORAGING, {"num_players": 3}), (KITCHEN, {}), (TICTACTOE, {})]


def seeds(env: JaxMARLEnv, state: Any) -> list[int]:
    """The seeds of the episodes in a batch of states."""
    lanes = np.asarray(state.lane).view(env._batch(1).lanes.dtype)["key"].reshape(-1, 2)
    return [int(low) | (int(high) << 32) for low, high in lanes.tolist()]


def stacked(env: JaxMARLEnv, by_agent: Any) -> np.ndarray:
    return np.stack([np.asarray(by_agent[agent]) for agent in env.agents], axis=1)


def test_the_page() -> None:
    names, _ = run("JaxMARL")
    dones, infos = names["dones"], names["infos"]
    assert dones["__all__"].shape == (100, 16)
    assert int(dones["__all__"].sum()) >= 16 * 5  # cut at 20, or all was eaten before
    assert float(infos["mistakes"].sum()) == 0.0
    paid = sum(float(value.sum()) for value in names["rewards"].values())
    assert paid > 0
    assert infos["returned_episode_returns"].shape == (100, 16, 3)


@pytest.mark.parametrize(("name", "options"), GAMES)
def test_every_lane_is_an_episode(name: str, options: dict[str, Any]) -> None:
    env = JaxMARLEnv(name, flatten=False, max_episode_steps=30, **options)
    lanes, rng = 5, np.random.default_rng(3)
    observations, state = jax.vmap(env.reset)(jax.random.split(jax.random.PRNGKey(7), lanes))
    assert len(set(seeds(env, state))) == lanes
    games = [Episode(env.game, seed) for seed in seeds(env, state)]
    step = jax.jit(jax.vmap(env.step))
    ended = 0
    for number in range(70):
        seen = stacked(env, observations)
        masks = stacked(env, jax.vmap(env.get_avail_actions)(state))
        actions = np.zeros((lanes, env.num_agents), np.int64)
        for lane, game in enumerate(games):
            for seat in game.to_act:
                legal = game.action_mask(seat)
                assert np.array_equal(masks[lane, seat], legal)
                assert np.array_equal(seen[lane, seat], game.observation(seat))
                actions[lane, seat] = rng.choice(np.flatnonzero(legal))
        chosen = {agent: actions[:, seat] for seat, agent in enumerate(env.agents)}
        keys = jax.random.split(jax.random.PRNGKey(number), lanes)
        observations, state, rewards, dones, infos = step(keys, state, chosen)
        for lane, game in enumerate(games):
            game.act({s: env.game.action_of(int(actions[lane, s])) for s in game.to_act})
            if game.steps_played == 30 and not game.over:
                game.truncate("time is up")
            paid = [float(rewards[agent][lane]) for agent in env.agents]
            assert paid == pytest.approx(game.rewards, abs=1e-6)
            assert bool(dones["__all__"][lane]) == game.over
            if game.over:
                ended += 1
                games[lane] = Episode(env.game, seeds(env, state)[lane])
        assert not float(infos["mistakes"].sum())
    assert ended >= lanes


def test_a_state_is_a_value_and_a_reset_state_is_taken() -> None:
    env = JaxMARLEnv(TICTACTOE)
    key = jax.random.PRNGKey(0)
    _, state = env.reset(key)
    play = {"agent_0": jnp.array(4), "agent_1": jnp.array(0)}
    once, again = env.step(key, state, play), env.step(key, state, play)
    for left, right in zip(jax.tree.leaves(once), jax.tree.leaves(again), strict=True):
        assert np.array_equal(left, right)
    line = [0, 3, 1, 4, 2]
    for cell in line:
        last = env.step(key, state, dict.fromkeys(env.agents, jnp.array(cell)), once[1])
        state = last[1]
    assert bool(last[3]["__all__"])
    assert [float(last[2][agent]) for agent in env.agents] == [1.0, -1.0]
    assert np.array_equal(state.lane, once[1].lane)
    whole = env.step_env(key, once[1], dict.fromkeys(env.agents, jnp.array(0)))
    assert not bool(whole[3]["__all__"])


@pytest.mark.parametrize(("policy", "over"), [("noop", True), ("random", False), ("forfeit", True)])
def test_illegal_actions_follow_the_policy_and_are_counted(policy: str, over: bool) -> None:
    env = JaxMARLEnv(TICTACTOE, invalid=policy)  # it has no no-operation
    key = jax.random.PRNGKey(0)
    _, state = env.reset(key)
    corner = dict.fromkeys(env.agents, jnp.array(0))
    _, state, *_ = env.step(key, state, corner)
    *_, rewards, dones, infos = env.step(key, state, corner)
    assert bool(dones["__all__"]) == over
    assert infos["mistakes"].tolist() == [0.0, 1.0]
    if over:
        assert [float(rewards[agent]) for agent in env.agents] == [1.0, -1.0]


def test_a_no_operation_is_played_where_the_game_has_one() -> None:
    env = JaxMARLEnv(FORAGING, max_episode_steps=50, num_players=2)
    key = jax.random.PRNGKey(0)
    _, state = env.reset(key)
    step, mistakes = jax.jit(env.step), 0.0
    for number in range(40):
        wall = dict.fromkeys(env.agents, jnp.array(number % env.game.num_actions))
        _, state, _, dones, infos = step(key, state, wall)
        mistakes += float(infos["mistakes"].sum())
        assert not bool(dones["__all__"])
    assert mistakes > 0


def test_jaxmarls_rollout_manager_takes_it() -> None:
    env = JaxMARLEnv(FORAGING, num_players=2, max_episode_steps=10)
    manager = CTRolloutManager(env, batch_size=4)
    observations, state = manager.batch_reset(jax.random.PRNGKey(1))
    assert observations["__all__"].shape[0] == 4
    actions = {a: manager.batch_sample(jax.random.PRNGKey(2), a) for a in env.agents}
    _, _, rewards, _, _ = manager.batch_step(jax.random.PRNGKey(3), state, actions)
    total = sum(rewards[agent] for agent in env.agents)
    assert np.allclose(rewards["__all__"], total)


def test_what_cannot_be_is_named() -> None:
    with pytest.raises(InvalidOption, match="is not an ArrayGame"):
        JaxMARLEnv("text/Commons-v0")
    with pytest.raises(UnknownName, match="'raise'"):
        JaxMARLEnv(TICTACTOE, invalid="raise")
