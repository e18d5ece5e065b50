"""Gomoku: five stones in a line on a large board.

Two players take turns putting a stone on an empty point of a square board. Five of one's own
stones in a horizontal, vertical or diagonal line win; a full board without such a line is a draw.
In the free-style game a longer line wins too; in the standard game the line must be exactly five
long. On 15x15 the first player wins the free-style game with best play (Allis, van den Herik and
Huntjens, "Go-Moku Solved by New Search Techniques", 1996). Three in a line on 3x3 is tic-tac-toe,
with its 255,168 games and 5,478 positions. The tests count both, and compare whole games with
OpenSpiel's `mnk` and with a plain scan of the board.

Checked: three in a line on 3 x 3 has the published numbers of games and positions; random games on
other boards against OpenSpiel's.

Left out: openings with forbidden moves (Renju).
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
    InvalidOption,
    Meta,
    Scene,
    Shape,
    Vocabulary,
    environment,
)
from palestra.rules import draw, mover, pass_turn, turn_to, win

from palestra_games.board.marks import (
    DIRECTIONS,
    LETTERS,
    MARKS,
    STONE_COLOURS,
    STONES,
    column_letters,
    disc_grid,
    mark_lines,
    number_labels,
    text_board,
)

LARGEST = len(LETTERS)


class GomokuState(ArrayState):
    """A position of Gomoku."""

    board: Annotated[NDArray[np.int8], Shape("board_size", "board_size")]  # marks; row 0: bottom


@environment(
    "games/Gomoku-v0",
    family="board",
    tags=("perfect-information", "deterministic"),
    paper="Allis, van den Herik and Huntjens (1996), Go-Moku Solved by New Search Techniques",
)
@dataclass(frozen=True)
class Gomoku(ArrayGame[GomokuState]):
    """Gomoku for two: five stones in a line on a large board.

    Action board_size * row + column puts a stone on that point; rows are counted from the bottom,
    columns from the left. An observation is two planes of 0 and 1 of the shape of the board: the
    player's own stones, then the other's; row 0 is the bottom. The winner is paid 1, the loser -1.
    """

    board_size: Annotated[
        int, Meta(ge=1, le=LARGEST, description="rows and columns of the board; at least line")
    ] = 15
    line: Annotated[int, Meta(ge=2, le=LARGEST, description="stones in a line that win")] = 5
    exact: Annotated[bool, Meta(description="whether a longer line does not win")] = False

    vocabulary = Vocabulary(
        words=("stone", "capture"),
        signs="XO",
        cells=True,
        instead={
            "Columns have letters from the left, rows have numbers from the bottom.": (
                "Columns have letters and rows have numbers, which stand beside the board."
            )
        },
    )
    rules_text = """
        You play Gomoku on a square board. Player_0 has the stones X and moves first.

        On your turn you put a stone on an empty point. Stones never move and are never captured.
        Columns have letters from the left, rows have numbers from the bottom. Write a move as a
        point, such as c2.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2

    def validate(self) -> None:
        if self.line > self.board_size:
            raise InvalidOption(
                f"line must be from 2 to {self.board_size}, which is board_size, not {self.line}"
            )

    @property
    def num_actions(self) -> int:
        """The points, row by row from the bottom."""
        return self.board_size**2

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """Two planes, own stones and the other's; row 0 is the bottom."""
        return (2, self.board_size, self.board_size)

    @staticmethod
    def init_state(config: Gomoku, state: GomokuState) -> None:
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Gomoku, state: GomokuState, actions: Any, out: Any) -> None:
        seat = mover(state)
        row, column = actions[seat] // config.board_size, actions[seat] % config.board_size
        state.board[row, column] = seat + 1
        if makes_line(config, state, row, column):
            win(state, seat, out)
        elif state.turn + 1 == config.board_size * config.board_size:
            draw(state)
        else:
            pass_turn(state)

    @staticmethod
    def write_legal_mask(config: Gomoku, state: GomokuState, seat: int, mask: Any) -> None:
        board = state.board.flat  # one long loop takes vector instructions, fifteen short ones none
        for cell in range(config.board_size * config.board_size):
            mask[cell] = board[cell] == 0

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own", 1, "1 where the player has a stone; row 0 is the bottom"),
            Channel("other", 1, "1 where the opponent has a stone; row 0 is the bottom"),
        )

    @staticmethod
    def write_observation(config: Gomoku, state: GomokuState, seat: int, obs: Any) -> None:
        board, own, other = state.board.flat, obs[0].flat, obs[1].flat
        for cell in range(config.board_size * config.board_size):
            own[cell] = board[cell] == seat + 1
            other[cell] = board[cell] == 2 - seat

    # What a player reads

    def rules_for(self, seat: int) -> str:
        how = (
            f"exactly {self.line} of your stones in an unbroken row, column or diagonal line; a "
            "longer line does not win"
            if self.exact
            else f"{self.line} or more of your stones in an unbroken row, column or diagonal line"
        )
        return (
            f"{super().rules_for(seat)}\n\nYou win with {how}.\nA full board without one is a draw."
        )

    def describe(self, state: GomokuState, seat: int) -> str:
        labels = number_labels(self.board_size)[::-1]
        rows = text_board(state.board[::-1].tolist(), labels)
        footer = column_letters(self.board_size, labels)
        return "\n".join([f"You are {MARKS[seat + 1]}.", *rows, footer])

    def action_text(self, state: GomokuState, seat: int, action: int) -> str:
        row, column = divmod(action, self.board_size)
        return f"{LETTERS[column]}{row + 1}"

    def scene(self, state: GomokuState, seat: int | None = None) -> Scene:
        labels = number_labels(self.board_size)[::-1]
        rows = state.board[::-1].tolist()
        marks = mark_lines(rows, self.line, exact=self.exact) if state.over else ()
        grid = disc_grid(rows, labels, pieces=STONES, ground="counter", marks=marks)
        return Scene(grid=grid, colours=STONE_COLOURS)


def makes_line(config: Gomoku, state: GomokuState, row: int, column: int) -> bool:
    """Whether the stone at (row, column) is part of a line that wins."""
    mark = state.board[row, column]
    for rise, run in DIRECTIONS:
        length = 1
        for sign in (1, -1):
            r, c = row + sign * rise, column + sign * run
            while (
                0 <= r < config.board_size
                and 0 <= c < config.board_size
                and state.board[r, c] == mark
            ):
                length += 1
                r, c = r + sign * rise, c + sign * run
        if length == config.line or (length > config.line and not config.exact):
            return True
    return False
