"""Opponents inside the compiled rules: the same episodes as when agents play, step by step."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import ArrayGame, InvalidAction
from palestra.agents.making import make_agent
from palestra.rules import finish
from palestra.views.gym import GymView
from scipy import stats

GAMES = {type(palestra.game(spec.id)): spec.id for spec in palestra.specs()}
ARRAY_GAMES = sorted(env for kind, env in GAMES.items() if issubclass(kind, ArrayGame))
SCRIPTED = [
    env
    for env in ARRAY_GAMES
    if palestra.game(env).has_script and palestra.game(env).num_players > 1
]


def play(env: GymView, seed: int, steps: int) -> list[tuple[Any, ...]]:
    """What random legal actions of the seat lead to, up to the end of an episode."""
    rng, told = np.random.default_rng(seed), []
    observation, info = env.reset(seed=seed)
    told.append((observation, info))
    for _ in range(steps):
        action = rng.choice(info["action_mask"].nonzero()[0])
        observation, reward, terminated, truncated, info = env.step(action)
        told.append((observation, reward, terminated, truncated, info))
        if terminated or truncated:
            break
    return told


def assert_same(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> None:
    assert len(one) == len(other)
    for here, there in zip(one, other, strict=True):
        np.testing.assert_equal(here, there)


@pytest.mark.parametrize("name", ARRAY_GAMES)
def test_what_was_played_inside_is_a_history_that_leads_to_the_same_state(name: str) -> None:
    """Played again action by action by the rules alone, with every mask asked on the way."""
    game = palestra.game(name)
    seat = game.num_players - 1
    env = GymView(game, seat=seat, compiled=False)
    told = play(env, seed=5, steps=6)
    plain = palestra.Episode(game, 5, compiled=False)
    for played in env.episode.history():
        assert set(played.actions) == set(plain.to_act)
        plain.act(played.actions)
    assert (plain.steps_played, plain.to_act) == (env.episode.steps_played, env.episode.to_act)
    assert plain.state_key() == env.episode.state_key()
    assert plain.returns == env.episode.returns
    paid = sum(step[1] for step in told[1:])
    if len(told) > 1:
        assert paid == pytest.approx(plain.returns[seat])
        terms = sum(sum(step[4]["reward_terms"].values()) for step in told[1:])
        assert terms == pytest.approx(paid)


@pytest.mark.parametrize("name", SCRIPTED)
def test_scripts_inside_play_as_the_scripted_agent_does(name: str) -> None:
    game = palestra.game(name)
    others = [make_agent("scripted") for _ in range(game.num_players - 1)]
    inside = GymView(game, opponents="scripted", compiled=False)
    beside = GymView(game, opponents=others, compiled=False)
    assert inside._inside is not None
    assert beside._inside is None
    if not scripts_are_legal(game):
        pytest.skip("its script leaves some moves to chance")
    for seed in (0, 1):
        assert_same(play(inside, seed, 5), play(beside, seed, 5))


def scripts_are_legal(game: Any) -> bool:
    """Whether the script always answers with a legal action, for a while."""
    episode = palestra.Episode(game, 0, compiled=False)
    for _ in range(40):
        if episode.over:
            break
        actions = {s: game.scripted(episode.state, s) for s in episode.to_act}
        for seat, action in actions.items():
            mask = episode.action_mask(seat)
            if not (0 <= action < len(mask) and mask[action]):
                return False
        episode.act(actions)
    return True


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("name", ["games/ConnectFour-v0", "games/LiarsDice-v0", "grid/Foraging-v0"])
def test_compiled_and_interpreted_are_equal(name: str) -> None:
    game = palestra.game(name)
    for seed in range(4):
        assert_same(
            play(GymView(game, compiled=True), seed, 60),
            play(GymView(game, compiled=False), seed, 60),
        )


def test_random_rivals_draw_every_legal_move_alike() -> None:
    env = GymView("games/TicTacToe-v0")
    drawn: Counter[int] = Counter()
    for seed in range(4_000):
        env.reset(seed=seed)
        env.step(4)
        drawn[next(iter(list(env.episode.history())[1].actions.values()))] += 1
    assert sorted(drawn) == [0, 1, 2, 3, 5, 6, 7, 8]
    assert stats.chisquare(list(drawn.values())).pvalue > 0.001


def test_a_seed_decides_an_episode_whatever_was_played_before() -> None:
    fresh, used = GymView("games/Gomoku-v0"), GymView("games/Gomoku-v0")
    for seed in range(3):
        play(used, 100 + seed, 30)
        assert_same(play(fresh, seed, 30), play(used, seed, 30))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on_alike_and_apart(copied: Any) -> None:
    env = GymView("games/ConnectFour-v0")
    env.reset(seed=3)
    env.step(3)
    twin = copied(env)
    for column in (2, 4, 2, 4):
        np.testing.assert_equal(env.step(column), twin.step(column))
    before = env.episode.state_key()
    twin.step(5)
    assert env.episode.state_key() == before


def test_records_snapshots_and_forks_know_what_was_played_inside() -> None:
    env = GymView("games/ConnectFour-v0")
    play(env, 7, 3)
    episode = env.episode
    twin, kept = episode.fork(), episode.snapshot()
    assert list(twin.history()) == list(episode.history())
    assert len(episode.log) == episode.steps_played + 1
    env.step(int(env.action_masks().nonzero()[0][0]))  # the log is kept now: agents play
    assert len(episode.log) == episode.steps_played + 1
    episode.restore(kept)
    assert episode.state_key() == twin.state_key()


@pytest.mark.parametrize("invalid", ["forfeit", "random", "raise", "retry:1"])
def test_an_illegal_action_is_a_matter_of_policy_as_ever(invalid: str) -> None:
    inside = GymView("games/TicTacToe-v0", invalid=invalid)
    inside.reset(seed=0)
    inside.step(4)
    if invalid == "raise":
        with pytest.raises(InvalidAction):
            inside.step(4)
        return
    _, reward, terminated, _, info = inside.step(4)
    assert info["invalid"] == 1
    assert terminated == (invalid == "forfeit")
    assert reward == (-1.0 if invalid == "forfeit" else 0.0)


@dataclass(frozen=True)
class Waiting(ArrayGame):
    """Seat 0 is paid at every step, by two terms; after each of its turns the others move often."""

    moves: int = 150
    order = "sequential"
    payoffs = "general"
    num_players = 3
    num_actions = 3
    observation_shape = (1,)
    observation_bounds = (0, 1)
    reward_terms = ("counted", "late")

    def fields(self) -> list[tuple[Any, ...]]:
        return [("count", np.int32)]

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        state.acting[0] = 1

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        state.acting[:] = 0
        state.count += 1
        out.rewards[0, 0] = 1.0
        if state.count == 2 * (config.moves + 1):
            out.rewards[0, 1] = 0.5
            finish(state)
        elif state.count % (config.moves + 1) == 0:
            state.acting[0] = 1
        else:
            state.acting[1 + state.count % 2] = 1

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        mask[:] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, obs: Any) -> None:
        obs[0] = 1

    def describe(self, state: Any, seat: int) -> str:
        return f"Step {state.count}."


@pytest.mark.parametrize(
    ("moves", "compiled"), [(1, False), (63, False), (64, False), (65, False), (150, True)]
)
def test_as_many_steps_as_others_take_each_paid_by_name(moves: int, compiled: bool) -> None:
    env = GymView(Waiting(moves), compiled=compiled)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(2)
    assert (reward, terminated) == (moves + 1, False)
    assert info["reward_terms"] == {"counted": moves + 1}
    assert env.episode.steps_played == len(list(env.episode.history())) == moves + 1
    _, reward, terminated, _, info = env.step(1)
    assert (reward, terminated) == (moves + 1.5, True)
    assert info["reward_terms"] == {"counted": moves + 1, "late": 0.5}
    assert [set(played.actions) for played in env.episode.history()][moves + 1] == {0}
