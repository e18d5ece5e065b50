"""Monte-Carlo tree search from the opening: our agent `mcts` against OpenSpiel's C++ bot."""

from __future__ import annotations

from typing import Any

import palestra
from palestra import Turn
from timing import Row, compare

SIMULATIONS = 300  # a move
UCT_C = 2.0  # OpenSpiel's own default
MEMORY = 1_000  # MB that its tree may take


def tic_tac_toe() -> Row:
    return against_open_spiel("games/TicTacToe-v0", "tic_tac_toe", 60)


def connect_four() -> Row:
    return against_open_spiel("games/ConnectFour-v0", "connect_four", 30)


def hex_11() -> Row:
    return against_open_spiel("games/Hex-v0", "hex", 5)


def hex_5() -> Row:
    return against_open_spiel("games/Hex-v0", "hex(board_size=5)", 20, board_size=5)


def othello() -> Row:
    return against_open_spiel("games/Othello-v0", "othello", 3)


def breakthrough() -> Row:
    return against_open_spiel("games/Breakthrough-v0", "breakthrough", 5)


def chess() -> Row:
    return against_open_spiel("games/Chess-v0", "chess", 1)


def against_open_spiel(env: str, peer: str, moves: int, **options: Any) -> Row:
    """`moves` decisions in the opening; each new leaf is valued by one random playout."""
    size = f", {options['board_size']}x{options['board_size']}" if options else ""
    return compare(
        f"{env}{size}, mcts, {SIMULATIONS} simulations a move",
        _our_search(palestra.make(env, view="episode", seed=0, **options), moves),
        _their_search(peer, moves),
        target=1,
        unit="simulations/s",
        against="OpenSpiel MCTSBot (C++)",
    )


def _our_search(episode: Any, moves: int) -> Any:
    agent = palestra.make_agent(f"mcts:simulations={SIMULATIONS}")
    turn = Turn(episode, 0)

    def search() -> int:
        for _ in range(moves):
            agent.act([turn])
        return moves * SIMULATIONS

    return search


def _their_search(name: str, moves: int) -> Any:
    import pyspiel

    game = pyspiel.load_game(name)
    evaluator = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=1)
    bot = pyspiel.MCTSBot(game, evaluator, UCT_C, SIMULATIONS, MEMORY, False, 1, False)
    state = game.new_initial_state()

    def search() -> int:
        for _ in range(moves):
            bot.step(state)
        return moves * SIMULATIONS

    return search


MEASURES = (tic_tac_toe, connect_four, hex_5, hex_11, othello, breakthrough, chess)
