"""Connect Four: drop discs into columns until four stand in a line.

Two players take turns dropping a disc into one of seven columns, where it falls to the lowest
empty of six rows. Four of one's own discs in a horizontal, vertical or diagonal line win; a full
board without one is a draw. The first player wins with best play (Allis, "A Knowledge-based
Approach of Connect-Four", 1988). Move sequences by length: 7, 49, 343, 2,401, 16,807, 117,649,
823,536, 5,673,234 (published perft).

Checked: numbers of move sequences against the published ones, random games against OpenSpiel's.

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
    InvalidOption,
    Meta,
    Scene,
    Shape,
    Vocabulary,
    environment,
)
from palestra.rules import draw, mover, pass_turn, turn_to, win

from palestra_games.board.marks import DIRECTIONS, MARKS, disc_cells, mark_lines, number_labels

LETTERS = bytes.maketrans(b"\0\1\2", MARKS.encode())
DIGITS = "1234567890" * 10
LONGEST = 100  # rows, columns or discs in a line


class ConnectFourState(ArrayState):
    """A position of Connect Four."""

    board: Annotated[NDArray[np.int8], Shape("rows", "columns")]  # marks; row 0 is the bottom
    heights: Annotated[NDArray[np.int8], Shape("columns")]  # discs in each column


@environment(
    "games/ConnectFour-v0",
    family="board",
    tags=("perfect-information", "deterministic"),
)
@dataclass(frozen=True)
class ConnectFour(ArrayGame[ConnectFourState]):
    """Connect Four: drop discs into columns until four stand in a line.

    An action is the number of a column, from 0 at the left. An observation is two planes of 0 and 1
    of the shape of the board: the player's own discs, then the other's; row 0 is the bottom. The
    winner is paid 1, the loser -1.
    """

    rows: Annotated[int, Meta(ge=1, le=LONGEST, description="rows of the board")] = 6
    columns: Annotated[int, Meta(ge=1, le=LONGEST, description="columns of the board")] = 7
    line: Annotated[
        int, Meta(ge=2, le=LONGEST, description="discs in a line that win; more of them win too")
    ] = 4

    vocabulary = Vocabulary(
        words=("disc",),
        signs="XO123456789",
        instead={
            "a column, numbered from 1 at the left.": "a column, whose number stands above it."
        },
    )
    rules_text = """
        You play Connect Four: drop a disc into a column, numbered from 1 at the left.

        A disc falls to the lowest empty cell. Four of your discs in a row, upright or diagonal,
        win.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2

    def validate(self) -> None:
        if self.line > max(self.rows, self.columns):
            raise InvalidOption(
                f"a line of {self.line} does not fit a board of {self.rows} rows and "
                f"{self.columns} columns; choose a shorter line or a larger board"
            )

    @property
    def num_actions(self) -> int:
        return self.columns

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """Two planes, own discs and the other's; row 0 is the bottom."""
        return (2, self.rows, self.columns)

    @staticmethod
    def init_state(config: ConnectFour, state: ConnectFourState) -> None:
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: ConnectFour, state: ConnectFourState, actions: Any, out: Any) -> None:
        seat = mover(state)
        column = actions[seat]
        row = state.heights[column]
        state.board[row, column] = seat + 1
        state.heights[column] += 1
        if completes_line(config, state.board, row, column, seat + 1):
            win(state, seat, out)
        elif state.turn + 1 == config.rows * config.columns:
            draw(state)
        else:
            pass_turn(state)

    @staticmethod
    def write_legal_mask(
        config: ConnectFour, state: ConnectFourState, seat: int, mask: Any
    ) -> None:
        for column in range(config.columns):
            mask[column] = state.heights[column] < config.rows

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own", 1, "1 where the player has a disc; row 0 is the bottom"),
            Channel("other", 1, "1 where the opponent has a disc; row 0 is the bottom"),
        )

    @staticmethod
    def write_observation(
        config: ConnectFour, state: ConnectFourState, seat: int, obs: Any
    ) -> None:
        for row in range(config.rows):
            for column in range(config.columns):
                obs[0, row, column] = state.board[row, column] == seat + 1
                obs[1, row, column] = state.board[row, column] == 2 - seat

    @staticmethod
    def scripted_action(config: ConnectFour, state: ConnectFourState, seat: int) -> int:
        """Complete an own line, else block the other's, else drop near the middle."""
        block, middle = -1, -1
        for column in range(config.columns):
            row = state.heights[column]
            if row == config.rows:
                continue
            if completes_line(config, state.board, row, column, seat + 1):
                return column
            if completes_line(config, state.board, row, column, 2 - seat):
                block = column
            near, best = abs(2 * column - config.columns + 1), abs(2 * middle - config.columns + 1)
            if middle < 0 or near < best:
                middle = column
        return block if block >= 0 else middle

    def describe(self, state: ConnectFourState, seat: int) -> str:
        # bytes: five times as fast as joining cell by cell, and this text is built every turn
        cells = state.board[::-1].tobytes().translate(LETTERS).decode()
        rows = [cells[i : i + self.columns] for i in range(0, len(cells), self.columns)]
        return "\n".join([f"You are {MARKS[seat + 1]}.", DIGITS[: self.columns], *rows])

    def action_text(self, state: ConnectFourState, seat: int, action: int) -> str:
        return str(action + 1)

    def scene(self, state: ConnectFourState, seat: int | None = None) -> Scene:
        rows = state.board[::-1].tolist()
        labels = number_labels(self.columns)
        marks = mark_lines(rows, self.line) if state.over else ()
        return Scene(grid=Grid(disc_cells(rows), (), labels, style="rack", marks=marks))


def completes_line(
    config: ConnectFour, board: NDArray[np.int8], row: int, column: int, mark: int
) -> bool:
    """Whether a disc of `mark` at (row, column), there or not yet, is part of a full line."""
    for rise, run in DIRECTIONS:
        length = 1
        for sign in (1, -1):
            r, c = row + sign * rise, column + sign * run
            while 0 <= r < config.rows and 0 <= c < config.columns and board[r, c] == mark:
                length += 1
                r, c = r + sign * rise, c + sign * run
        if length >= config.line:
            return True
    return False
