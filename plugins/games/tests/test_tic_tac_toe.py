"""Tic-tac-toe against published counts and another implementation."""

from __future__ import annotations

import random

import pytest
from palestra import Episode
from palestra.testing.perft import perft
from palestra_games.board.tic_tac_toe import LINES, TicTacToe

GAME = TicTacToe()


def play(*cells: int) -> Episode:
    episode = Episode(GAME, 0, compiled=False)
    for cell in cells:
        episode.act({episode.to_act[0]: cell - 1})
    return episode


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("winner", [0, 1])
def test_every_line_wins_for_either_player(line: tuple[int, ...], winner: int) -> None:
    others = [cell for cell in range(9) if cell not in line]
    losing = next(
        chosen
        for chosen in ([a, b, c] for a in others for b in others for c in others)
        if len(set(chosen)) == 3 and tuple(sorted(chosen)) not in LINES
    )
    moves = (
        list(zip(line, losing, strict=True))
        if winner == 0
        else list(zip(losing, line, strict=True))
    )
    episode = play(*[cell + 1 for pair in moves for cell in pair][: 5 if winner == 0 else 6])
    assert episode.outcome is not None
    assert episode.outcome.winners == (winner,)
    assert list(episode.returns) == [1.0, -1.0] if winner == 0 else [-1.0, 1.0]


def test_a_full_board_without_a_line_is_a_draw() -> None:
    episode = play(1, 2, 3, 5, 4, 6, 8, 7, 9)
    assert episode.outcome is not None
    assert episode.outcome.results == ("draw", "draw")
    assert list(episode.returns) == [0.0, 0.0]


def test_a_line_on_the_last_cell_wins() -> None:
    episode = play(1, 2, 3, 4, 5, 6, 8, 7, 9)
    assert episode.outcome is not None
    assert episode.outcome.winners == (0,)


def test_there_are_255168_games_and_5478_positions() -> None:
    """Both counts are classic; see Schaefer, MathRec Solutions (Tic-Tac-Toe), 2002."""
    games, seen = count(Episode(GAME, 0), {})
    assert games == 255_168
    assert len(seen) == 5_478


def count(episode: Episode, seen: dict[bytes, int]) -> tuple[int, dict[bytes, int]]:
    """Complete games from here; a position reached again is not walked again."""
    key = episode.state_key()
    if key not in seen:
        games = 1 if episode.over else 0
        for action in [] if episode.over else episode.legal_actions():
            child = episode.fork()
            child.act({episode.to_act[0]: action})
            games += count(child, seen)[0]
        seen[key] = games
    return seen[key], seen


def test_move_sequences_by_length_add_up_to_the_known_tree() -> None:
    assert perft(GAME, 9) == [9, 72, 504, 3_024, 15_120, 54_720, 148_176, 200_448, 127_872]


def test_random_games_agree_with_openspiel() -> None:
    pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed")
    theirs = pyspiel.load_game("tic_tac_toe")
    rng = random.Random(0)
    for _ in range(50):
        state, episode = theirs.new_initial_state(), Episode(GAME, 0)
        while not state.is_terminal():
            assert episode.to_act == (state.current_player(),)
            assert episode.legal_actions() == state.legal_actions()
            action = rng.choice(state.legal_actions())
            state.apply_action(action)
            episode.act({episode.to_act[0]: action})
        assert episode.over
        assert list(episode.returns) == state.returns()
