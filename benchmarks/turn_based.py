"""Turn-based games: our AEC view against PettingZoo, our episode loop against OpenSpiel."""

from __future__ import annotations

import random
import warnings
from typing import Any

import palestra
from timing import Row, compare

GAMES = 300


def aec_against_pettingzoo() -> Row:
    """Tic-tac-toe through AEC: `last()`, masks, random legal moves, episode after episode."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pettingzoo.classic import tictactoe_v3

    ours = palestra.make("games/TicTacToe-v0", view="aec")
    return compare(
        "tic-tac-toe, AEC",
        lambda: _aec_games(ours),
        lambda: _aec_games(tictactoe_v3.env(), GAMES // 6),
        target=8,
        unit="moves/s",
        against="PettingZoo tictactoe_v3",
    )


def _aec_games(env: Any, games: int = GAMES) -> int:
    draw, moves = random.Random(0).random, 0
    for seed in range(games):
        env.reset(seed=seed)
        for _ in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            env.step(int(legal[int(draw() * len(legal))]))
            moves += 1
    return moves


def episode_against_rl_environment() -> Row:
    """Connect Four: act, legal moves and observation at every turn."""
    from open_spiel.python import rl_environment

    theirs = rl_environment.Environment("connect_four")
    return compare(
        "Connect Four, episode loop",
        _our_games(),
        lambda: _rl_environment_games(theirs),
        target=4,
        unit="moves/s",
        against="OpenSpiel rl_environment",
    )


def episode_against_pyspiel() -> Row:
    """The same against OpenSpiel's C++ state with an observation tensor a move."""
    import pyspiel

    theirs = pyspiel.load_game("connect_four")
    return compare(
        "Connect Four, episode loop",
        _our_games(),
        lambda: _pyspiel_games(theirs),
        target=1,
        unit="moves/s",
        against="OpenSpiel C++ state + observation tensor",
    )


def _our_games() -> Any:
    episode = palestra.make("games/ConnectFour-v0", view="episode")

    def play() -> int:
        draw, moves = random.Random(0).random, 0
        for seed in range(GAMES):
            episode.reset(seed)
            while episode.to_act:
                legal = episode.legal_actions()
                seat = episode.to_act[0]
                episode.observation(seat)
                episode.act({seat: legal[int(draw() * len(legal))]})
                moves += 1
        return moves

    return play


def _rl_environment_games(env: Any) -> int:
    draw, moves = random.Random(0).random, 0
    for _ in range(GAMES // 3):
        step = env.reset()
        while not step.last():
            legal = step.observations["legal_actions"][step.observations["current_player"]]
            step = env.step([legal[int(draw() * len(legal))]])
            moves += 1
    return moves


def _pyspiel_games(game: Any) -> int:
    draw, moves = random.Random(0).random, 0
    for _ in range(GAMES):
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            state.observation_tensor(state.current_player())
            state.apply_action(legal[int(draw() * len(legal))])
            moves += 1
    return moves


MEASURES = (
    aec_against_pettingzoo,
    episode_against_rl_environment,
    episode_against_pyspiel,
)
