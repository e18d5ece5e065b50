"""Tic-tac-toe: three in a row on a 3x3 board.

Two players take turns placing a mark on an empty cell of a 3x3 board. Whoever first has three
marks in a row, column or diagonal wins; a full board without such a line is a draw. With best
play by both it is a draw. There are 255,168 games and 5,478 positions (both counts include the
empty board's continuations up to the end of each game; Schaefer, MathRec Solutions, 2002).

Checked: there are 255,168 games and 5,478 positions; random games against OpenSpiel's.

Left out: nothing of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Grid,
    Piece,
    Scene,
    Shape,
    Vocabulary,
    environment,
)
from palestra.rules import draw, mover, pass_turn, turn_to, win

from palestra_games.board.marks import MARKS, disc_cells, mark_lines

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
CROSSES = (None, Piece("X", 0, "mark"), Piece("O", 1, "mark"))
CELL_NAMES = (("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9"))


class TicTacToeState(ArrayState):
    """A position of tic-tac-toe."""

    board: Annotated[NDArray[np.int8], Shape(9)]  # by cell: 0 empty, else 1 + the seat that marked


@environment("games/TicTacToe-v0", family="board", tags=("perfect-information", "deterministic"))
@dataclass(frozen=True)
class TicTacToe(ArrayGame[TicTacToeState]):
    """Tic-tac-toe on a 3x3 board. An action is the number of a cell, 0 to 8, row by row.

    An observation is two 3x3 planes of 0 and 1: the player's own marks, then the other's. The
    winner is paid 1, the loser -1.
    """

    vocabulary = Vocabulary(
        words=("tic-tac-toe", "mark"),
        signs="XO123456789",
        instead={
            "a 3x3 board whose cells are numbered 1 to 9, row by row.": (
                "a board of three rows of three cells. The cells of the first row are called 1, 2 "
                "and 3, those of the second 4, 5 and 6, those of the third 7, 8 and 9."
            )
        },
    )
    rules_text = """
        You play tic-tac-toe on a 3x3 board whose cells are numbered 1 to 9, row by row.

        Players take turns marking an empty cell; three of your marks in a row, column or diagonal
        win.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2
    num_actions = 9
    observation_shape = (2, 3, 3)

    @staticmethod
    def init_state(config: TicTacToe, state: TicTacToeState) -> None:
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: TicTacToe, state: TicTacToeState, actions: Any, out: Any) -> None:
        seat = mover(state)
        state.board[actions[seat]] = seat + 1
        if has_line(state.board, seat + 1):
            win(state, seat, out)
        elif state.turn == 8:
            draw(state)
        else:
            pass_turn(state)

    @staticmethod
    def write_legal_mask(config: TicTacToe, state: TicTacToeState, seat: int, mask: Any) -> None:
        for cell in range(9):
            mask[cell] = state.board[cell] == 0

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own", 1, "1 where the player has a mark"),
            Channel("other", 1, "1 where the opponent has a mark"),
        )

    @staticmethod
    def write_observation(config: TicTacToe, state: TicTacToeState, seat: int, obs: Any) -> None:
        for cell in range(9):
            obs[0, cell // 3, cell % 3] = state.board[cell] == seat + 1
            obs[1, cell // 3, cell % 3] = state.board[cell] == 2 - seat

    @staticmethod
    def scripted_action(config: TicTacToe, state: TicTacToeState, seat: int) -> int:
        """Complete an own line, else block the other's, else take the centre, else anything."""
        own = completing_cell(state.board, seat + 1)
        block = completing_cell(state.board, 2 - seat)
        centre = 4 if state.board[4] == 0 else -1
        return own if own >= 0 else block if block >= 0 else centre

    def describe(self, state: TicTacToeState, seat: int) -> str:
        marks = "".join(map(MARKS.__getitem__, state.board.tolist()))
        rows = marks[:3], marks[3:6], marks[6:]
        return "\n".join([f"You are {MARKS[seat + 1]}.", *rows])

    def action_text(self, state: TicTacToeState, seat: int, action: int) -> str:
        return str(action + 1)

    def scene(self, state: TicTacToeState, seat: int | None = None) -> Scene:
        rows = state.board.reshape(3, 3).tolist()
        marks = mark_lines(rows, 3) if state.over else ()
        return Scene(grid=Grid(disc_cells(rows, CROSSES), marks=marks, names=CELL_NAMES))


def completing_cell(board: NDArray[np.int8], mark: int) -> int:
    """An empty cell that gives `mark` a line; -1 if there is none."""
    found = -1
    for a, b, c in LINES:
        marks = (board[a] == mark) + 0 + (board[b] == mark) + (board[c] == mark)
        empty = a if board[a] == 0 else b if board[b] == 0 else c
        if marks == 2 and board[empty] == 0:
            found = empty
    return found


def has_line(board: NDArray[np.int8], mark: int) -> bool:
    """Whether `mark` fills a row, column or diagonal of a 9-cell board."""
    found = False  # no early return: checking all lines is cheaper than the branches to stop early
    for a, b, c in LINES:
        found |= (board[a] == mark) & (board[b] == mark) & (board[c] == mark)
    return found
