"""Tic-tac-toe: three in a row on a 3x3 board.

Two players take turns placing a mark on an empty cell of a 3x3 board. Whoever first has three
marks in a row, column or diagonal wins; a full board without such a line is a draw. With best
play by both it is a draw. There are 255,168 games and 5,478 positions (both counts include the
empty board's continuations up to the end of each game; Schaefer, MathRec Solutions, 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import ArrayGame, Grid, Piece, Scene
from palestra.rules import draw, mover, pass_turn, turn_to, win

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
MARKS = ".XO"


@dataclass(frozen=True)
class TicTacToe(ArrayGame):
    """You play tic-tac-toe on a 3x3 board whose cells are numbered 1 to 9, row by row.

    Players take turns marking an empty cell; three of your marks in a row, column or diagonal win.
    """

    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2
    num_actions = 9
    observation_shape = (2, 3, 3)

    def fields(self) -> list[tuple[Any, ...]]:
        return [("board", np.int8, 9)]

    @staticmethod
    def setup(config: Any, state: Any) -> None:
        turn_to(state, 0)

    @staticmethod
    def advance(config: Any, state: Any, actions: Any, out: Any) -> None:
        player = mover(state)
        state.board[actions[player]] = player + 1
        if has_line(state.board, player + 1):
            win(state, player, out)
        elif state.turn == 8:
            draw(state)
        else:
            pass_turn(state)

    @staticmethod
    def allow(config: Any, state: Any, player: int, mask: Any) -> None:
        for cell in range(9):
            mask[cell] = state.board[cell] == 0

    @staticmethod
    def sense(config: Any, state: Any, player: int, view: Any) -> None:
        for cell in range(9):
            view[0, cell // 3, cell % 3] = state.board[cell] == player + 1
            view[1, cell // 3, cell % 3] = state.board[cell] == 2 - player

    @staticmethod
    def script(config: Any, state: Any, player: int) -> int:
        """Complete an own line, else block the other's, else take the centre, else anything."""
        own = completing_cell(state.board, player + 1)
        block = completing_cell(state.board, 2 - player)
        centre = 4 if state.board[4] == 0 else -1
        return own if own >= 0 else block if block >= 0 else centre

    def describe(self, state: Any, player: int) -> str:
        rows = ["".join(MARKS[mark] for mark in row) for row in state.board.reshape(3, 3)]
        return "\n".join([f"You are {MARKS[player + 1]}.", *rows])

    def action_text(self, state: Any, player: int, action: int) -> str:
        return str(action + 1)

    def scene(self, state: Any, player: int | None = None) -> Scene:
        cells = [Piece(MARKS[m], m - 1, "mark") if m else None for m in state.board.tolist()]
        rows = tuple(tuple(cells[r : r + 3]) for r in (0, 3, 6))
        return Scene(grid=Grid(rows, names=(("1", "2", "3"), ("4", "5", "6"), ("7", "8", "9"))))


def completing_cell(board: Any, mark: int) -> int:
    """An empty cell that gives `mark` a line; -1 if there is none."""
    found = -1
    for a, b, c in LINES:
        marks = (board[a] == mark) + 0 + (board[b] == mark) + (board[c] == mark)
        empty = a if board[a] == 0 else b if board[b] == 0 else c
        if marks == 2 and board[empty] == 0:
            found = empty
    return found


def has_line(board: Any, mark: int) -> bool:
    """Whether `mark` fills a row, column or diagonal of a 9-cell board."""
    found = False  # no early return: looking at all lines costs less than guessing when to stop
    for a, b, c in LINES:
        found |= (board[a] == mark) & (board[b] == mark) & (board[c] == mark)
    return found
