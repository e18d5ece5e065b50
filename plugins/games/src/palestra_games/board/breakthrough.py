"""Breakthrough: be the first to bring a piece to the far row.

Two players start with two full rows of pieces each, on opposite sides of the board. A piece moves
one cell forward, straight or diagonally; it captures, on a diagonal step only, by moving onto an
opposing piece. Capturing is optional. A player wins by reaching the opponent's home row or by
capturing all the opponent's pieces. There are no draws, because the player to move always has a
move. By Dan Troyka (2000), winner of the 2001 8x8 Game Design Competition. The tests compare whole
games with OpenSpiel's implementation.

Checked: random games and the numbers of move sequences against OpenSpiel's.

Left out: nothing of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, Channel, Meta, Scene, Shape, Vocabulary, environment
from palestra.rules import mover, pass_turn, turn_to, win
from palestra.scene import turned

from palestra_games.board.marks import (
    LETTERS,
    MARKS,
    column_letters,
    disc_grid,
    number_labels,
    text_board,
)

LONGEST = len(LETTERS)
SHIFTS = 3  # a piece steps forward, and one column left, none, or one right


class BreakthroughState(ArrayState):
    """A position of Breakthrough."""

    board: Annotated[NDArray[np.int8], Shape("rows", "columns")]  # marks; row 0 is X's home row
    pieces: Annotated[NDArray[np.int16], Shape(2)]  # by seat: pieces on the board


@environment(
    "games/Breakthrough-v0",
    family="board",
    tags=("perfect-information", "deterministic"),
    paper="Handscomb (2001), 8x8 Game Design Competition: Breakthrough",
)
@dataclass(frozen=True)
class Breakthrough(ArrayGame[BreakthroughState]):
    """Breakthrough for two: bring a piece to the far row, or capture all opposing pieces.

    Action 3 * (columns * row + column) + shift moves the piece on that cell one row forward; rows
    are counted from the mover's own side, columns from the left for both, and the shift is 0 for a
    column to the left, 1 for straight ahead and 2 for a column to the right.

    An observation is two planes of 0 and 1 of the shape of the board: the player's own pieces, then
    the other's; row 0 is the player's own home row. The winner is paid 1, the loser -1.
    """

    rows: Annotated[int, Meta(ge=4, le=LONGEST, description="rows of the board")] = 8
    columns: Annotated[int, Meta(ge=2, le=LONGEST, description="columns of the board")] = 8

    vocabulary = Vocabulary(
        words=("piece", "capture"),
        signs="XO",
        cells=True,
        instead={
            "Columns have letters from the left, rows have numbers from the bottom.": (
                "Columns have letters and rows have numbers, which stand beside the board."
            )
        },
    )
    rules_text = """
        You play Breakthrough. Player_0 has the pieces X and moves first; player_1 has the O.

        X starts on the two bottom rows and moves up, O on the two top rows and moves down. On your
        turn move one of your pieces one cell forward: straight ahead or diagonally to an empty
        cell, or diagonally onto a piece of your opponent, which is captured and leaves the board.
        You cannot capture straight ahead, move sideways or back, or pass, and you never have to
        capture.

        You win as soon as a piece of yours stands on the row farthest from your side, or when you
        have captured all your opponent's pieces. There are no draws.

        Columns have letters from the left, rows have numbers from the bottom. Write a move as the
        cell a piece leaves and the cell it enters, such as b2-c3; captures are written the same
        way.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2

    @property
    def num_actions(self) -> int:
        """Every cell, rows counted from the mover's own side, times the three ways forward."""
        return self.rows * self.columns * SHIFTS

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """Two planes, own pieces and the opponent's; row 0 is the player's own side."""
        return (2, self.rows, self.columns)

    @staticmethod
    def init_state(config: Breakthrough, state: BreakthroughState) -> None:
        for seat in range(2):
            for row in range(2):
                state.board[seen_from(config, seat, row)] = seat + 1
            state.pieces[seat] = 2 * config.columns
        turn_to(state, 0)

    @staticmethod
    def apply_actions(
        config: Breakthrough, state: BreakthroughState, actions: Any, out: Any
    ) -> None:
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
    def write_legal_mask(
        config: Breakthrough, state: BreakthroughState, seat: int, mask: Any
    ) -> None:
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

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own", 1, "1 where the player has a piece; row 0 is the player's home row"),
            Channel("other", 1, "1 where the opponent has a piece"),
        )

    @staticmethod
    def write_observation(
        config: Breakthrough, state: BreakthroughState, seat: int, obs: Any
    ) -> None:
        for near in range(config.rows):
            row = state.board[seen_from(config, seat, near)]
            for column in range(config.columns):
                obs[0, near, column] = row[column] == seat + 1
                obs[1, near, column] = row[column] == 2 - seat

    def describe(self, state: BreakthroughState, seat: int) -> str:
        labels = number_labels(self.rows)[::-1]
        rows = text_board(state.board[::-1].tolist(), labels)
        whoami = f"You are {MARKS[seat + 1]} and move {('up', 'down')[seat]}."
        return "\n".join([whoami, *rows, column_letters(self.columns, labels)])

    def action_text(self, state: BreakthroughState, seat: int, action: int) -> str:
        cell, shift = divmod(action, SHIFTS)
        near, column = divmod(cell, self.columns)
        row, ahead = (seen_from(self, seat, r) + 1 for r in (near, near + 1))
        onto = column + shift - 1
        if near + 1 == self.rows or not 0 <= onto < self.columns:
            return f"{LETTERS[column]}{row}-off"  # not the number of any move
        return f"{LETTERS[column]}{row}-{LETTERS[onto]}{ahead}"

    def scene(self, state: BreakthroughState, seat: int | None = None) -> Scene:
        labels = number_labels(self.rows)[::-1]
        grid = disc_grid(state.board[::-1].tolist(), labels, style="checkered")
        return Scene(grid=turned(grid) if seat == 1 else grid)


def seen_from(config: Breakthrough, seat: int, row: int) -> int:
    """Convert a row counted from a player's side to one counted from the bottom, or back."""
    return row if seat == 0 else config.rows - 1 - row
