"""Othello (Reversi): enclose the opponent's discs to turn them over; most discs win.

Two players place discs on a square board that starts with two of each colour, crosswise, in its
middle. A placement must enclose at least one straight, unbroken line of the opponent's discs
between the new disc and another of the mover's own, in any of eight directions; all discs so
enclosed turn over. A player without a placement passes while the opponent has one; when neither
has, the game ends and more discs win. Rules as played since Hasegawa (1971), with the fixed start.

Move sequences from the start of the 8x8 game: 4, 12, 56, 244, 1,396, 8,200, 55,092, 390,216
(published perft). On 4x4 and 6x6 the second player wins (Feinstein, 1993); 8x8 is a draw
(Takizawa, "Othello is Solved", 2023).

Checked: numbers of move sequences against the published ones, random games against OpenSpiel's; the
second player wins the board of 4 x 4.

Left out: nothing of the rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Grid,
    Meta,
    Scene,
    Shape,
    Vocabulary,
    environment,
)
from palestra.rules import draw, mover, turn_to, win

from palestra_games.board.marks import (
    LETTERS,
    MARKS,
    STONE_COLOURS,
    STONES,
    column_letters,
    disc_grid,
    number_labels,
    text_board,
)

DIRECTIONS = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))


class OthelloState(ArrayState):
    """A position of Othello; a row of cells is one number, with a bit a cell, column a lowest."""

    discs: Annotated[NDArray[np.int16], Shape(2, "size")]  # by seat and row: that seat's discs
    placements: Annotated[NDArray[np.int16], Shape("size")]  # by row: where the mover may place


@environment(
    "games/Othello-v0",
    family="board",
    tags=("perfect-information", "deterministic"),
    paper="Takizawa (2023), Othello is Solved",
)
@dataclass(frozen=True)
class Othello(ArrayGame[OthelloState]):
    """Othello (Reversi) for two: enclose the other's discs to turn them over; most discs win.

    Action size * row + column places a disc on that cell, rows counted from the top; the last
    action, size * size, passes. An observation is two planes of 0 and 1 of the shape of the board:
    the player's own discs, then the other's; row 0 is the top. The winner is paid 1, the loser -1.
    """

    size: Annotated[Literal[4, 6, 8, 10], Meta(description="rows and columns of the board")] = 8

    vocabulary = Vocabulary(
        words=("othello", "reversi", "disc"),
        signs="XO",
        cells=True,
        instead={
            "row number, rows counted from the top, such as": (
                "row number, which stand beside the board, such as"
            )
        },
    )
    rules_text = """
        You play Othello (Reversi). Player_0 has the discs X and moves first; player_1 has the O.

        On your turn place one disc on an empty cell, so that a straight line of one or more discs
        of your opponent, without a gap, lies between the new disc and another disc of yours: along
        a row, a column or a diagonal. All discs enclosed in this way, in every direction, become
        yours. A placement that turns over nothing is not allowed.

        You pass when, and only when, you have no placement and your opponent has one; they then
        move again. The game ends when neither of you has a placement, usually with a full board.
        Whoever has more discs wins; equal numbers are a draw.

        Write a cell as its column letter and row number, rows counted from the top, such as d3;
        write pass to pass.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2

    @property
    def num_actions(self) -> int:
        """Every cell, row by row from the top left, and the pass as the last."""
        return self.size * self.size + 1

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """Two planes, own discs and the opponent's; row 0 is the top."""
        return (2, self.size, self.size)

    @staticmethod
    def init_state(config: Othello, state: OthelloState) -> None:
        upper = config.size // 2 - 1
        left, right = 1 << upper, 2 << upper
        state.discs[0, upper], state.discs[1, upper] = right, left
        state.discs[0, upper + 1], state.discs[1, upper + 1] = left, right
        find_placements(config, state, 0)
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Othello, state: OthelloState, actions: Any, out: Any) -> None:
        seat = mover(state)
        action = actions[seat]
        if action < config.size * config.size:
            place(config, state, seat, action // config.size, action % config.size)
        if not find_placements(config, state, 1 - seat):
            if not find_placements(config, state, seat):
                settle(config, state, out)
                return
            state.placements[:] = 0
        turn_to(state, 1 - seat)

    @staticmethod
    def write_legal_mask(config: Othello, state: OthelloState, seat: int, mask: Any) -> None:
        anywhere = 0
        for row in range(config.size):
            open_cells = state.placements[row]
            anywhere |= open_cells
            for column in range(config.size):
                mask[row * config.size + column] = open_cells >> column & 1
        mask[config.size * config.size] = anywhere == 0

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own", 1, "1 where the player has a disc; row 0 is the top"),
            Channel("other", 1, "1 where the opponent has a disc; row 0 is the top"),
        )

    @staticmethod
    def write_observation(config: Othello, state: OthelloState, seat: int, obs: Any) -> None:
        for row in range(config.size):
            for column in range(config.size):
                obs[0, row, column] = state.discs[seat, row] >> column & 1
                obs[1, row, column] = state.discs[1 - seat, row] >> column & 1

    def describe(self, state: OthelloState, seat: int) -> str:
        labels = number_labels(self.size)
        header, rows = column_letters(self.size, labels), text_board(self.board(state), labels)
        return "\n".join([f"You are {MARKS[seat + 1]}.", header, *rows, self.count(state)])

    def action_text(self, state: OthelloState, seat: int, action: int) -> str:
        row, column = divmod(action, self.size)
        return "pass" if row == self.size else f"{LETTERS[column]}{row + 1}"

    def scene(self, state: OthelloState, seat: int | None = None) -> Scene:
        counts = zip(self.players, discs_of(state), strict=True)
        caption = ", ".join(f"{name}: {count} discs" for name, count in counts)
        return Scene(caption, self._picture(state), colours=STONE_COLOURS)

    def _picture(self, state: OthelloState) -> Grid:
        labels = number_labels(self.size)
        return disc_grid(self.board(state), labels, pieces=STONES, ground="felt")

    def board(self, state: OthelloState) -> list[list[int]]:
        """Rows of marks from the top."""
        discs = state.discs.tolist()
        return [
            [(black >> column & 1) + 2 * (white >> column & 1) for column in range(self.size)]
            for black, white in zip(*discs, strict=True)
        ]

    def count(self, state: OthelloState) -> str:
        """How many discs each player has, in words."""
        black, white = discs_of(state)
        return f"Discs: X {black}, O {white}."


def discs_of(state: OthelloState) -> list[int]:
    """How many discs each player has."""
    return [sum(map(int.bit_count, rows)) for rows in state.discs.tolist()]


def find_placements(config: Othello, state: OthelloState, seat: int) -> bool:
    """Write where `seat` may place a disc; return whether there is such a cell."""
    for row in range(config.size):
        state.placements[row] = along_row(config, state, seat, row)
    sweep(config, state, seat, 0, 1)
    sweep(config, state, seat, config.size - 1, -1)
    anywhere = 0
    for row in range(config.size):
        anywhere |= int(state.placements[row])
    return anywhere != 0


def along_row(config: Othello, state: OthelloState, seat: int, row: int) -> int:
    """Empty cells that enclose discs of their own row, as bits."""
    own, other = int(state.discs[seat, row]), int(state.discs[1 - seat, row])
    rising, falling = other & (own << 1), other & (own >> 1)
    for _ in range(config.size - 3):  # an enclosed line has at most size - 2 discs
        rising |= other & (rising << 1)
        falling |= other & (falling >> 1)
    return vacant(config, own, other) & (rising << 1 | falling >> 1)


def sweep(config: Othello, state: OthelloState, seat: int, first: int, step: int) -> None:
    """Add the cells that enclose discs in columns and diagonals, going once over the rows.

    `straight`, `left` and `right` are the opponent's discs of the last row that end an unbroken
    line which began beside an own disc: all columns of a row at once.
    """
    before = straight = left = right = 0
    row = first
    for _ in range(config.size):
        own, other = int(state.discs[seat, row]), int(state.discs[1 - seat, row])
        ends = straight | left >> 1 | right << 1
        state.placements[row] |= vacant(config, own, other) & ends
        straight = other & (straight | before)
        left = other & ((left | before) >> 1)
        right = other & ((right | before) << 1)
        before = own
        row += step


def vacant(config: Othello, own: int, other: int) -> int:
    """The empty cells of a row, as bits."""
    cells: int = (1 << config.size) - 1
    return cells & ~(own | other)


def place(config: Othello, state: OthelloState, seat: int, row: int, column: int) -> None:
    """Put a disc down and turn over what it encloses."""
    state.discs[seat, row] |= 1 << column
    for south, east in DIRECTIONS:
        r, c = row + south, column + east
        while is_disc(config, state, 1 - seat, r, c):
            r, c = r + south, c + east
        if not is_disc(config, state, seat, r, c):
            continue
        r, c = r - south, c - east
        while r != row or c != column:
            state.discs[seat, r] |= 1 << c
            state.discs[1 - seat, r] &= ~(1 << c)
            r, c = r - south, c - east


def is_disc(config: Othello, state: OthelloState, seat: int, row: int, column: int) -> bool:
    """Whether a cell is on the board and holds a disc of `seat`."""
    if row < 0 or column < 0 or row >= config.size or column >= config.size:
        return False
    return state.discs[seat, row] >> column & 1 == 1


def settle(config: Othello, state: OthelloState, out: Any) -> None:
    """End the game: whoever has more discs wins."""
    lead = 0
    for row in range(config.size):
        for column in range(config.size):
            lead += state.discs[0, row] >> column & 1
            lead -= state.discs[1, row] >> column & 1
    if lead == 0:
        draw(state)
    else:
        win(state, 0 if lead > 0 else 1, out)
