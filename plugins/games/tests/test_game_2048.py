"""2048: merging by hand and against another way to slide, new tiles, the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_games.puzzles.directions import ACTIONS, LEFT, RIGHT
from palestra_games.puzzles.game_2048 import Game2048, can_slide, slide

BOARDS = st.lists(st.integers(0, 5), min_size=16, max_size=16)


def slid(board: Any, action: int) -> tuple[Any, int]:
    game = Game2048(*np.shape(board))
    state = game.initial_state(0)
    state.board[:] = board
    gained = slide(game.config, state, action)
    return state.board, gained


def slide_left(row: list[int]) -> tuple[list[int], int]:
    """By numbers, not exponents: pair equal neighbours from the left."""
    tiles, made, gained = [2**t for t in row if t], [], 0
    while tiles:
        if tiles[1:2] == tiles[:1]:
            made.append(tiles.pop(0) + tiles.pop(0))
            gained += made[-1]
        else:
            made.append(tiles.pop(0))
    return made + [1] * (len(row) - len(made)), gained


@pytest.mark.parametrize(
    ("row", "left", "right", "gained"),
    [
        ((2, 2, 0, 0), (4, 0, 0, 0), (0, 0, 0, 4), 4),
        ((2, 0, 0, 2), (4, 0, 0, 0), (0, 0, 0, 4), 4),
        ((2, 2, 2, 0), (4, 2, 0, 0), (0, 0, 2, 4), 4),
        ((2, 2, 2, 2), (4, 4, 0, 0), (0, 0, 4, 4), 8),
        ((4, 2, 2, 0), (4, 4, 0, 0), (0, 0, 4, 4), 4),
        ((4, 2, 0, 2), (4, 4, 0, 0), (0, 0, 4, 4), 4),
        ((2, 4, 2, 4), (2, 4, 2, 4), (2, 4, 2, 4), 0),
        ((0, 0, 0, 8), (8, 0, 0, 0), (0, 0, 0, 8), 0),
        ((8, 8, 16, 16), (16, 32, 0, 0), (0, 0, 16, 32), 48),
    ],
)
def test_merging_by_hand(
    row: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...], gained: int
) -> None:
    board = np.zeros((4, 4), int)
    board[2] = [int(np.log2(n)) if n else 0 for n in row]
    for action, expected in ((LEFT, left), (RIGHT, right)):
        moved, paid = slid(board, action)
        assert [2**t if t else 0 for t in moved[2].tolist()] == list(expected)
        assert paid == gained


@given(BOARDS)
def test_sliding_is_that_of_another_implementation(cells: list[int]) -> None:
    board = np.array(cells).reshape(4, 4)
    moved, gained = slid(board, LEFT)
    expected = [slide_left(row) for row in board.tolist()]
    assert [[2**t for t in row] for row in moved.tolist()] == [row for row, _ in expected]
    assert gained == sum(paid for _, paid in expected)


@given(BOARDS, st.integers(0, 3))
def test_sliding_keeps_the_sum_and_turns_with_the_board(cells: list[int], action: int) -> None:
    board = np.array(cells).reshape(4, 4)
    moved, gained = slid(board, action)
    assert (2 ** moved.astype(int))[moved > 0].sum() == (2**board)[board > 0].sum()
    turns = {"left": 0, "up": 1, "right": 2, "down": 3}[ACTIONS[action]]
    turned, paid = slid(np.rot90(board, turns), LEFT)
    assert np.array_equal(np.rot90(turned, -turns), moved)
    assert paid == gained


@given(BOARDS, st.integers(0, 3))
def test_a_direction_is_allowed_if_it_changes_the_board(cells: list[int], action: int) -> None:
    game = Game2048()
    state = game.initial_state(0)
    state.board[:] = np.array(cells).reshape(4, 4)
    before = state.board.copy()
    allowed = can_slide(game.config, state, action)
    slide(game.config, state, action)
    assert allowed == (not np.array_equal(before, state.board))


def test_new_tiles_are_twos_nine_times_in_ten_and_land_anywhere() -> None:
    game, fours, places = Game2048(), 0, np.zeros((4, 4), int)
    for seed in range(1_500):
        board = game.initial_state(seed).board
        assert (board > 0).sum() == 2
        fours += int((board == 2).sum())
        places += board > 0
    assert abs(fours - 300) < 70
    assert places.min() > 130


def test_returns_are_the_score_and_the_game_ends_when_stuck() -> None:
    for seed in range(3):
        episode = Episode(Game2048(3, 3), seed, compiled=False)
        while not episode.over:
            moves = episode.legal_actions(0)
            episode.act({0: moves[Rng(seed + episode.steps_played).below(len(moves))]})
        board = episode.state.board.astype(int)
        assert episode.returns[0] == episode.state.score
        assert (board > 0).all()
        assert np.diff(board, axis=0).all()
        assert np.diff(board, axis=1).all()


def test_a_goal_tile_wins() -> None:
    episode = Episode(Game2048(2, 2, goal=8), 0, compiled=False)
    state = episode.state
    state.board[:] = [[2, 2], [0, 0]]
    episode.load(state)
    episode.act({0: LEFT})
    assert episode.outcome is not None
    assert episode.outcome.results == ("win",)
    assert "greatest tile is 8" in episode.outcome.reason


def test_an_idle_direction_is_refused() -> None:
    episode = Episode(Game2048(2, 2), 0, compiled=False)
    state = episode.state
    state.board[:] = [[1, 2], [0, 0]]
    episode.load(state)
    with pytest.raises(InvalidAction):
        episode.act({0: LEFT})


@pytest.mark.parametrize(
    ("options", "said"),
    [({"rows": 1}, "rows must be"), ({"columns": 7}, "columns"), ({"goal": 12}, "power of two")],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        Game2048(**options)
