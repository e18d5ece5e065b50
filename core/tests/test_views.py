"""What Gymnasium and PettingZoo users see: ids, masks, opponents, text, seeds, errors."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import palestra
import pettingzoo
import pytest
from palestra import InvalidAction, InvalidOption, OutOfTurn, UnknownName
from palestra.views.gym import GymView

IDS = [spec.id for spec in palestra.specs()]
NUMBERED = [spec.id for spec in palestra.specs() if "array" in spec.observations]


@pytest.mark.parametrize("env", NUMBERED)
def test_every_id_opens_through_both_registries(env: str) -> None:
    assert gymnasium.make(f"palestra:{env}").reset(seed=1)
    assert gymnasium.make(env).reset(seed=1)
    aec = pettingzoo.make("aec", env)
    aec.reset(seed=1)
    assert aec.agents == list(palestra.game(env).players)


def moves(env: Any, steps: int, seed: int) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(seed)
    seen = [env.reset(seed=seed)[0]]
    for _ in range(steps):
        action = int(rng.choice(np.flatnonzero(env.unwrapped.action_masks())))
        obs, reward, terminated, truncated, _ = env.step(action)
        seen.append((np.asarray(obs).tolist(), reward, terminated, truncated))
        if terminated or truncated:
            break
    return seen


@pytest.mark.parametrize("env", NUMBERED)
def test_one_seed_gives_one_episode_opponents_included(env: str) -> None:
    one = moves(gymnasium.make(env), 30, 5)
    two = moves(gymnasium.make(env), 30, 5)
    assert str(one) == str(two)


def test_episodes_after_a_seeded_reset_follow_from_it() -> None:
    def three(seed: int) -> list[int]:
        env = palestra.make("games/KuhnPoker-v0")
        env.reset(seed=seed)
        return [env.reset()[1] and env.episode.seed for _ in range(3)]

    assert three(3) == three(3)
    assert three(3) != three(4)


def test_masks_are_in_every_view() -> None:
    name = "games/TicTacToe-v0"
    env = palestra.make(name)
    _, info = env.reset(seed=0)
    env.step(4)
    assert info["action_mask"].sum() == 9
    assert not env.action_masks()[4]
    assert env.action_masks().dtype == np.bool_
    aec = palestra.make(name, view="aec")
    aec.reset(seed=0)
    aec.step(4)
    assert aec.last()[0]["action_mask"][4] == 0
    parallel = palestra.make(name, view="parallel")
    observed, infos = parallel.reset(seed=0)
    assert infos["player_0"]["acting"]
    assert not infos["player_1"]["acting"]
    assert observed["player_0"].shape == parallel.observation_space("player_0").shape
    assert infos["player_0"]["action_mask"].sum() == 9


@pytest.mark.parametrize("seat", [0, 1])
def test_opponents_move_before_and_after_the_learner(seat: int) -> None:
    env = palestra.make("games/TicTacToe-v0", seat=seat, opponents="first")
    env.reset(seed=0)
    assert env.episode.steps_played == seat
    env.step(int(env.action_masks().argmax()))
    assert env.episode.to_act == (seat,)


def test_opponents_are_names_agents_functions_or_a_list_of_them() -> None:
    def centre(turn: palestra.Turn) -> int:
        return 4 if 4 in turn.legal_actions else turn.legal_actions[0]

    env = palestra.make("games/TicTacToe-v0", opponents=centre)
    env.reset(seed=0)
    env.step(0)
    assert env.episode.state.board[4] == 2
    env = palestra.make("text/Commons-v0", opponents=["harvester"] * 4)
    env.reset(seed=0)
    with pytest.raises(InvalidOption, match="4 opponents are needed"):
        palestra.make("text/Commons-v0", opponents=["harvester"] * 2)


def test_perfect_opponents_are_never_beaten() -> None:
    env = palestra.make("games/TicTacToe-v0", opponents="minimax")
    rng = np.random.default_rng(0)
    for seed in range(10):
        env.reset(seed=seed)
        done, reward = False, 0.0
        while not done:
            action = int(rng.choice(np.flatnonzero(env.action_masks())))
            _, reward, done, _, info = env.step(action)
        assert reward <= 0
        assert info["outcome"] in ("loss", "draw")


@pytest.mark.parametrize("env", IDS)
def test_text_view_plays_with_strings(env: str) -> None:
    view = palestra.make(env, obs="text")
    text, info = view.reset(seed=2)
    assert isinstance(text, str)
    assert info["rules"]
    episode = view.episode
    action = episode.game.sample(episode.state, 0, palestra.Rng(0))
    told, *_ = view.step(episode.game.action_text(episode.state, 0, action))
    assert isinstance(told, str)


def test_text_that_cannot_be_read_is_an_illegal_move() -> None:
    view = palestra.make("games/TicTacToe-v0", obs="text")
    view.reset(seed=0)
    _, reward, terminated, _, info = view.step("I resign")
    assert (reward, terminated) == (-1.0, True)
    assert info["outcome"] == "forfeit"
    assert info["invalid"] == 1
    strict = palestra.make("games/TicTacToe-v0", obs="text", invalid="raise")
    strict.reset(seed=0)
    with pytest.raises(InvalidAction):
        strict.step("I resign")
    patient = palestra.make("games/TicTacToe-v0", obs="text", invalid="retry:1")
    patient.reset(seed=0)
    _, reward, terminated, _, info = patient.step("I resign")
    assert (reward, terminated) == (0.0, False)
    assert info["error"]


def test_order_of_calls_is_enforced_without_wrappers() -> None:
    env = gymnasium.make("games/TicTacToe-v0")
    with pytest.raises(OutOfTurn, match="reset"):
        env.step(0)
    assert env.unwrapped is env


def test_an_episode_that_others_end_at_once_is_told_by_the_first_step() -> None:
    env = palestra.make(
        "text/Negotiation-v0", view="gym", obs="text", seat=1, opponents=lambda turn: "nonsense"
    )
    env.reset(seed=0)
    _, reward, ended, cut, info = env.step("Accept()")
    assert (reward, ended, cut) == (0.0, True, False)
    assert "player_0 forfeits" in info["reason"]
    with pytest.raises(OutOfTurn, match="the episode is over"):
        env.step("Accept()")


def test_unknown_names_suggest_what_was_meant() -> None:
    with pytest.raises(UnknownName, match="did you mean 'games/ConnectFour-v0'"):
        palestra.make("games/ConectFour-v0")
    with pytest.raises(UnknownName, match="games, grid, markets, tasks, text"):
        palestra.make("chess/Chess-v0")
    with pytest.raises(UnknownName, match="did you mean 'parallel'"):
        palestra.make("games/ConnectFour-v0", view="paralel")
    with pytest.raises(UnknownName, match="did you mean 'rows'"):
        palestra.make("games/ConnectFour-v0", row=5)
    with pytest.raises(UnknownName, match="did you mean 'random'"):
        palestra.make("games/ConnectFour-v0", opponents="randon")
    with pytest.raises(UnknownName, match="array, text"):
        palestra.make("games/ConnectFour-v0", obs="pixels")
    with pytest.raises(UnknownName, match="unknown render mode '3d'; choose from: ansi"):
        palestra.make("games/ConnectFour-v0", render_mode="3d")
    with pytest.raises(InvalidOption, match="seat"):
        palestra.make("games/ConnectFour-v0", seat=2)


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
@pytest.mark.parametrize("view", ["gym", "aec", "parallel"])
def test_render_modes_work_offscreen(mode: str, view: str) -> None:
    env = palestra.make("games/ConnectFour-v0", view=view, render_mode=mode)
    env.reset(seed=0)
    frame = env.render()
    assert isinstance(frame, str) if mode == "ansi" else frame.shape == (480, 480, 3)
    env.close()


def test_a_learner_sees_no_secret_in_what_is_rendered() -> None:
    env = palestra.make("games/KuhnPoker-v0", seat=0, render_mode="ansi")
    env.reset(seed=3)
    assert "?" in env.render()


def test_a_dead_agent_may_only_be_stepped_with_none() -> None:
    env = palestra.make("games/TicTacToe-v0", view="aec")
    env.reset(seed=0)
    for action in (0, 3, 1, 4, 2):
        env.step(action)
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.last()[1] == 1.0
    with pytest.raises(OutOfTurn, match="None"):
        env.step(5)
    env.step(None)
    assert env.last()[1] == -1.0
    env.step(None)
    assert env.agents == []


def test_infos_of_arrays_alone_have_one_shape_from_reset_to_end() -> None:
    env = gymnasium.make("palestra:games/TicTacToe-v0", infos="arrays")
    _, info = env.reset(seed=3)
    over = False
    while not over:
        assert {name: np.shape(value) for name, value in info.items()} == {
            "turn": (),
            "action_mask": (9,),
        }
        _, _, terminated, truncated, info = env.step(int(info["action_mask"].argmax()))
        over = terminated or truncated
    assert set(info) == {"turn", "action_mask"}
    with pytest.raises(palestra.InvalidOption, match="infos must be 'all' or 'arrays'"):
        gymnasium.make("palestra:games/TicTacToe-v0", infos="words")


def test_episodes_without_a_seed_follow_from_the_last_seed_given() -> None:
    env = GymView("games/KuhnPoker-v0")
    for seed in (5, 6):
        env.reset(seed=seed)
        drawn = np.random.default_rng(seed)
        for _ in range(70):
            env.reset()
            assert env.episode.seed == int(drawn.integers(2**31))


@pytest.mark.parametrize("env_id", ["games/KuhnPoker-v0", "games/LeducHoldem-v0"])
def test_an_outcome_that_was_kept_is_that_of_the_state(env_id: str) -> None:
    env, reasons = GymView(env_id), set()
    for seed in range(120):
        _, info = env.reset(seed=seed)
        over = False
        while not over:
            legal = info["action_mask"].nonzero()[0]
            _, _, ended, cut, info = env.step(legal[seed % len(legal)])
            over = ended or cut
        outcome = env.episode.outcome
        assert outcome == env.game.outcome(env.episode.state)
        assert outcome is not None
        reasons.add(outcome.scores)
        assert info["outcome"] == outcome.results[0]
    assert len(reasons) > 3
