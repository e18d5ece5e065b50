"""Breakthrough: be the first to bring a piece to the far row.

Two players start with two full rows of pieces each, on opposite sides of the board. A piece moves
one cell forward, straight or diagonally; it captures, on a diagonal step only, by moving onto an
opposing piece. Capturing is optional. Reaching the opponent's home row wins, and so does capturing
all his pieces; somebody always can move, so there is no draw. By Dan Troyka (2000), winner of the
2001 8x8 Game Design Competition. Whole games are checked against OpenSpiel's implementation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import ArrayGame, Grid, Piece, Scene, environment
from palestra.kernel.errors import InvalidOption
from palestra.rules import mover, pass_turn, turn_to, win

MARKS = ".XO"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONGEST = len(LETTERS)
SHIFTS = 3  # a piece steps forward and by one column to the left, by none, or to the right


@environment(
    "games/Breakthrough-v0",
    family="board",
    tags=("perfect-information", "deterministic"),
    paper="Handscomb (2001), 8x8 Game Design Competition: Breakthrough",
)
@dataclass(frozen=True)
class Breakthrough(ArrayGame):
    """You play Breakthrough. Player_0 has the pieces X and moves first; player_1 has the O.

    X starts on the two bottom rows and moves up, O on the two top rows and moves down. On your
    turn move one of your pieces one cell forward: straight ahead or diagonally to an empty cell, or
    diagonally onto a piece of your opponent, which is captured and leaves the board. You cannot
    capture straight ahead, move sideways or back, or pass, and you never have to capture.

    You win as soon as a piece of yours stands on the row farthest from your side, or when you have
    captured all your opponent's pieces. There are no draws.

    Columns have letters from the left, rows have numbers from the bottom. Write a move as the
    cell a piece leaves and the cell it enters, such as b2-c3; captures are written the same way.
    """

    rows: int = 8
    columns: int = 8

    order = "sequential"
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2

    def __post_init__(self) -> None:
        if not (4 <= self.rows <= LONGEST and 2 <= self.columns <= LONGEST):
            raise InvalidOption(
                f"rows must be 4 to {LONGEST} and columns 2 to {LONGEST}, "
                f"not {self.rows} and {self.columns}"
            )

    @property
    def num_actions(self) -> int:
        """Every cell, rows counted from the mover's own side, times the three ways forward."""
        return self.rows * self.columns * SHIFTS

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """Two planes, own pieces and the opponent's; row 0 is the player's own side."""
        return (2, self.rows, self.columns)

    def fields(self) -> list[tuple[Any, ...]]:
        return [("board", np.int8, (self.rows, self.columns)), ("pieces", np.int16, 2)]

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for seat in range(2):
            for row in range(2):
                state.board[seen_from(config, seat, row)] = seat + 1
            state.pieces[seat] = 2 * config.columns
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        seat = mover(state)
        cell, shift = actions[seat] // SHIFTS, actions[seat] % SHIFTS
        near, column = cell // config.columns, cell % config.columns
        row, ahead = seen_from(config, seat, near), seen_from(config, seat, near + 1)
        onto = column + shift - 1
        if state.board[ahead, onto] != 0:
            state.pieces[1 - seat] -= 1
        state.board[row, column] = 0
        state.board[ahead, onto] = seat + 1
        if near + 2 == config.rows or state.pieces[1 - seat] == 0:
            win(state, seat, out)
        else:
            pass_turn(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        own, last = seat + 1, config.columns - 1
        for near in range(config.rows - 1):
            row = state.board[seen_from(config, seat, near)]
            ahead = state.board[seen_from(config, seat, near + 1)]
            for column in range(config.columns):
                at = (near * config.columns + column) * SHIFTS
                here = row[column] == own
                mask[at + 1] = here & (ahead[column] == 0)
                if column > 0:
                    mask[at] = here & (ahead[column - 1] != own)
                if column < last:
                    mask[at + 2] = here & (ahead[column + 1] != own)

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        for near in range(config.rows):
            row = state.board[seen_from(config, seat, near)]
            for column in range(config.columns):
                view[0, near, column] = row[column] == seat + 1
                view[1, near, column] = row[column] == 2 - seat

    def describe(self, state: Any, seat: int) -> str:
        width = len(str(self.rows))
        rows = [
            " ".join([str(row + 1).rjust(width), *(MARKS[mark] for mark in state.board[row])])
            for row in reversed(range(self.rows))
        ]
        footer = " ".join([" " * width, *LETTERS[: self.columns]])
        whoami = f"You are {MARKS[seat + 1]} and move {('up', 'down')[seat]}."
        return "\n".join([whoami, *rows, footer])

    def action_text(self, state: Any, seat: int, action: int) -> str:
        cell, shift = divmod(action, SHIFTS)
        near, column = divmod(cell, self.columns)
        row, ahead = (seen_from(self, seat, r) + 1 for r in (near, near + 1))
        onto = column + shift - 1
        if near + 1 == self.rows or not 0 <= onto < self.columns:
            return f"{LETTERS[column]}{row}-off"  # a number no move ever has
        return f"{LETTERS[column]}{row}-{LETTERS[onto]}{ahead}"

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        rows = tuple(
            tuple(Piece(MARKS[mark], mark - 1, "disc") if mark else None for mark in row)
            for row in state.board[::-1].tolist()
        )
        numbers = tuple(str(row + 1) for row in reversed(range(self.rows)))
        letters = tuple(LETTERS[: self.columns])
        return Scene(grid=Grid(rows, numbers, letters, checkered=True))


def seen_from(config: Any, seat: int, row: int) -> int:
    """The row counted from the bottom of one counted from a player's side, and the reverse."""
    return row if seat == 0 else config.rows - 1 - row
