"""Hex: connect your two sides of a rhombus of hexagons.

Two players take turns putting a stone on an empty cell of a rhombus. Each owns two opposite sides;
whoever joins their two sides by an unbroken chain of their own stones wins. Invented by Piet Hein
(1942) and, again, by John Nash (1948). A full board always has exactly one winner, so there are no
draws, and by Nash's strategy-stealing argument the first player wins with best play. With the swap
rule the second player may take over the first stone, mirrored in the long diagonal, instead of
placing one; then the second player wins. The tests check both by exhaustive search on small boards,
and compare whole games, move by move, with OpenSpiel's `hex`.

Checked: random games with and without the swap against OpenSpiel's; the first player wins small
boards, and with the swap the second, by exhaustive search.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, Channel, Meta, Scene, Shape, Vocabulary, environment
from palestra.rules import mover, turn_to, win
from palestra.scene import Hex as Tile
from palestra.scene import HexEdge, Hexes, MarkKind

from palestra_games.board.marks import DISCS, LETTERS, MARKS

LARGEST = 19
NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
BOTH_SIDES = 3  # bit 1: joined to the first own side, bit 2: to the second


class HexState(ArrayState):
    """A position of Hex; cells are numbered row by row from the top."""

    board: Annotated[NDArray[np.int8], Shape("cells")]  # marks
    joined: Annotated[NDArray[np.int8], Shape("cells")]  # the own sides each stone is joined to
    todo: Annotated[NDArray[np.int16], Shape("cells")]  # room for a search; zeros between moves


@environment(
    "games/Hex-v0",
    family="board",
    tags=("perfect-information", "deterministic"),
    paper="Gardner (1957), Mathematical Games: the game of Hex",
)
@dataclass(frozen=True)
class Hex(ArrayGame[HexState]):
    """Hex for two: join your two sides of a rhombus of hexagons.

    Action board_size * row + column puts a stone on that cell; rows are counted from the top. With
    the swap rule there is one more action, the last, which swaps.

    An observation is three planes of 0 and 1 of the shape of the board: the player's own stones,
    the other's, and ones everywhere for player_1, who joins left and right. The winner is paid 1,
    the loser -1.
    """

    board_size: Annotated[
        int, Meta(ge=1, le=LARGEST, description="rows and columns of the board")
    ] = 11
    swap: Annotated[
        bool,
        Meta(description="swap rule: whether player_1 may take over the first stone, mirrored"),
    ] = False

    vocabulary = Vocabulary(
        words=("hex", "hexagonal", "rhombus", "stone", "capture"),
        signs="XO",
        cells=True,
        instead={
            "Columns have letters from the left, rows have numbers from the top, and each": (
                "Columns have letters and rows have numbers, which stand beside the board, and each"
            )
        },
    )
    rules_text = """
        You play Hex on a rhombus of hexagonal cells. Player_0 has the stones X and moves first.

        On your turn you put a stone on an empty cell. Stones never move and are never captured. X
        owns the top and the bottom side, O the left and the right side; a corner belongs to both.
        You win as soon as an unbroken chain of your stones joins your two sides. There are no
        draws.

        Columns have letters from the left, rows have numbers from the top, and each row is drawn
        half a cell farther to the right than the row above it. So a cell touches up to six others:
        left and right in its row, the same column and the next one in the row above, the same
        column and the one before in the row below: b2 touches a2, c2, b1, c1, a3 and b3.

        Write a move as a cell, such as c2.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "zero-sum"
    deterministic = True
    num_players = 2

    @property
    def cells(self) -> int:
        return self.board_size**2

    @property
    def num_actions(self) -> int:
        """The cells, row by row, and the swap where it is played."""
        return self.cells + bool(self.swap)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        """Three planes: own stones, the other's, and ones for who joins left and right."""
        return (3, self.board_size, self.board_size)

    @staticmethod
    def init_state(config: Hex, state: HexState) -> None:
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Hex, state: HexState, actions: Any, out: Any) -> None:
        seat = mover(state)
        cell = actions[seat]
        if cell == config.board_size * config.board_size:
            cell = remove_only_stone(config, state)
        place(config, state, cell, seat)
        if state.joined[cell] == BOTH_SIDES:
            win(state, seat, out)
        else:
            turn_to(state, 1 - seat)

    @staticmethod
    def write_legal_mask(config: Hex, state: HexState, seat: int, mask: Any) -> None:
        cells = config.board_size * config.board_size
        for cell in range(cells):
            mask[cell] = state.board[cell] == 0
        if config.num_actions > cells:
            mask[cells] = state.turn == 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("own", 1, "1 where the player has a stone"),
            Channel("other", 1, "1 where the opponent has a stone"),
            Channel("side", 1, "1 everywhere for player_1, who joins left and right, else 0"),
        )

    @staticmethod
    def write_observation(config: Hex, state: HexState, seat: int, obs: Any) -> None:
        own, other, side = obs[0].flat, obs[1].flat, obs[2].flat  # rows would be short loops
        for cell in range(config.board_size * config.board_size):
            own[cell] = state.board[cell] == seat + 1
            other[cell] = state.board[cell] == 2 - seat
            side[cell] = seat

    # What a player reads

    def rules_for(self, seat: int) -> str:
        swap = (
            "\n\nAfter X's first stone, and only then, O may write swap instead of a cell. That "
            "stone is taken off, and O gets one on its mirror image, with row and column "
            "exchanged: for a stone on c1, one on a3. Then X moves."
        )
        return super().rules_for(seat) + (swap if self.swap else "")

    def describe(self, state: HexState, seat: int) -> str:
        width = len(str(self.board_size))
        goal = ("the top to the bottom", "the left to the right")[seat]
        lines = [f"You are {MARKS[seat + 1]} and join {goal}."]
        lines.append(" " * (width + 1) + " ".join(LETTERS[: self.board_size]))
        for row, marks in enumerate(state.board.reshape(self.board_size, -1).tolist()):
            cells = " ".join(map(MARKS.__getitem__, marks))
            lines.append(f"{' ' * row}{str(row + 1).rjust(width)} {cells}")
        return "\n".join(lines)

    def action_text(self, state: HexState, seat: int, action: int) -> str:
        if action == self.cells:
            return "swap"
        row, column = divmod(action, self.board_size)
        return f"{LETTERS[column]}{row + 1}"

    def scene(self, state: HexState, seat: int | None = None) -> Scene:
        rows = state.board.reshape(self.board_size, -1).tolist()
        one, two = self.players
        note = (
            f"{one} joins top and bottom, {two} left and right; "
            "a cell also touches up-right, down-left."
        )
        return Scene(
            lines=(note,), parts=(rhombus(rows, winning_chain(rows) if state.over else []),)
        )


def winning_chain(rows: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """A shortest chain of one player's stones that joins their sides; empty if there is none."""
    count = len(rows)
    for mark, along in ((1, 0), (2, 1)):  # X joins row 0 and the last, O column 0 and the last
        stones = {(r, c) for r in range(count) for c in range(count) if rows[r][c] == mark}
        paths = [[stone] for stone in sorted(stones) if stone[along] == 0]
        reached = {path[0] for path in paths}
        for path in paths:  # grows while it is walked
            row, column = path[-1]
            if path[-1][along] == count - 1:
                return path
            near = {(row + r, column + c) for r, c in NEIGHBOURS} & stones - reached
            reached |= near
            paths += [[*path, stone] for stone in sorted(near)]
    return []


def rhombus(rows: Sequence[Sequence[int]], chain: Sequence[tuple[int, int]]) -> Hexes:
    """The board with its sides in the colours of those who join them, and a chain that won."""
    last = len(rows) - 1
    tiles = tuple(
        Tile(column, row, "", DISCS[mark], f"{LETTERS[column]}{row + 1}")
        for row, marks in enumerate(rows)
        for column, mark in enumerate(marks)
    )
    rim = [
        *(HexEdge(n, 0, side, 0) for n in range(last + 1) for side in (5, 0)),
        *(HexEdge(n, last, side, 0) for n in range(last + 1) for side in (2, 3)),
        *(HexEdge(0, n, side, 1) for n in range(last + 1) for side in (3, 4)),
        *(HexEdge(last, n, side, 1) for n in range(last + 1) for side in (0, 1)),
    ]
    won: list[tuple[MarkKind, int]] = [("winning", r * len(rows) + c) for r, c in chain]
    return Hexes(tiles, tuple(rim), marks=tuple(won))


def remove_only_stone(config: Hex, state: HexState) -> int:
    """Take the first stone off the board, and return the mirror image of its cell."""
    cell = 0
    while state.board[cell] == 0:
        cell += 1
    state.board[cell] = 0
    state.joined[cell] = 0
    row, column = cell // config.board_size, cell % config.board_size
    return column * config.board_size + row


def place(config: Hex, state: HexState, cell: int, seat: int) -> None:
    """Put a stone down, and note for its whole chain which sides it is joined to."""
    last = config.board_size - 1
    row, column = cell // config.board_size, cell % config.board_size
    along = row if seat == 0 else column
    sides = (1 if along == 0 else 0) | (2 if along == last else 0)
    for down, right in NEIGHBOURS:
        r, c = row + down, column + right
        if 0 <= r <= last and 0 <= c <= last:
            near = r * config.board_size + c
            if state.board[near] == seat + 1:
                sides |= state.joined[near]
    state.board[cell] = seat + 1
    state.joined[cell] = sides
    if sides == 1 or sides == 2:
        spread(config, state, cell)


def spread(config: Hex, state: HexState, cell: int) -> None:
    """Flood-fill a stone's chain with the sides it is joined to; leaves `todo` all zeros."""
    last = config.board_size - 1
    state.todo[0] = cell
    waiting = 1
    while waiting > 0:
        waiting -= 1
        at = int(state.todo[waiting])
        state.todo[waiting] = 0
        for down, right in NEIGHBOURS:
            r, c = at // config.board_size + down, at % config.board_size + right
            if 0 <= r <= last and 0 <= c <= last:
                near = r * config.board_size + c
                if state.board[near] == state.board[cell] and state.joined[near] == 0:
                    state.joined[near] = state.joined[cell]
                    state.todo[waiting] = near
                    waiting += 1
