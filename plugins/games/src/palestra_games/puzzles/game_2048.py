"""2048: slide numbered tiles; two equal tiles that meet merge into one of twice the number.

All tiles slide as far as they can in one of four directions. Two tiles of the same number that
meet merge, those nearest the wall first, and a tile made by a merge does not merge again in the
same move. After every move that changed something a 2 (nine times in ten) or a 4 appears on an
empty cell. The game is over when nothing can move. The rules are those of Gabriele Cirulli,
"2048", 2014; there is no published value to compare with, so the tests use merges worked out by
hand and an independent implementation of sliding.

Checked: sliding against another implementation; the sum of all tiles and the symmetries of the
board; new tiles are twos nine times in ten.

Left out: nothing of the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    Grid,
    InvalidOption,
    Meta,
    Outcome,
    Piece,
    Scene,
    Shape,
    Vocabulary,
    environment,
)
from palestra.rules import WIN, finish, randint, turn_to

from palestra_games.puzzles.directions import ACTIONS, DOWN, EASTWARD, LEFT, SOUTHWARD, UP


class State2048(ArrayState):
    """A board of 2048."""

    board: Annotated[NDArray[np.uint8], Shape("rows", "columns")]  # exponents: 0 empty, 1 a 2, …
    score: Annotated[int, np.int64]  # the sum of all tiles made by merging


@environment(
    "games/Game2048-v0",
    family="grid",
    tags=("perfect-information", "chance"),
)
@dataclass(frozen=True)
class Game2048(ArrayGame[State2048]):
    """2048: slide numbered tiles on a board, where equal tiles that meet merge into their sum.

    Actions are 0 (up), 1 (down), 2 (left) and 3 (right); only those that move a tile are legal. An
    observation holds the exponent of each cell's tile by row and column, 0 for an empty cell. A
    move earns the sum of the tiles it makes.
    """

    rows: Annotated[int, Meta(ge=2, le=6, description="rows of the board")] = 4
    columns: Annotated[int, Meta(ge=2, le=6, description="columns of the board")] = 4
    goal: Annotated[
        int,
        Meta(ge=0, le=2**37, description="the tile that wins, a power of two from 8; 0 for none"),
    ] = 0

    vocabulary = Vocabulary(
        words=("tile", "merge", "slide"),
    )
    rules_text = """
        You slide numbered tiles on a board; equal tiles that meet merge into one of their sum.

        Every turn write "up", "down", "left" or "right": all tiles slide that way as far as they
        can. Two equal tiles that run into each other merge, those nearest the wall first; a tile
        made in this move does not merge again in it. You are paid the number of every tile made.
        Then a new 2, or one time in ten a 4, appears on an empty cell. A direction in which nothing
        would move is not allowed, and when there is none left the game is over.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    num_actions = 4
    reward_terms = ("merged",)

    def validate(self) -> None:
        if self.goal and (self.goal < 8 or self.goal & (self.goal - 1)):
            raise InvalidOption(f"goal must be 0 (none) or a power of two from 8, not {self.goal}")

    @property
    def highest(self) -> int:
        """The exponent of the greatest tile that can be made: 17 on a board of 4x4."""
        return self.rows * self.columns + 1

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.highest * 2 ** (self.highest + 1)))

    @property
    def observation_shape(self) -> tuple[int, int]:
        return (self.rows, self.columns)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, self.highest)

    # The rules

    @staticmethod
    def init_state(config: Game2048, state: State2048) -> None:
        add_tile(config, state)
        add_tile(config, state)
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Game2048, state: State2048, actions: Any, out: Any) -> None:
        gained = slide(config, state, actions[0])
        state.score += gained
        out.rewards[0, 0] = gained
        add_tile(config, state)
        if config.goal and has_tile(config, state, config.goal):
            state.result[0] = WIN
            finish(state)
        elif is_stuck(config, state):
            finish(state)

    @staticmethod
    def write_legal_mask(config: Game2048, state: State2048, seat: int, mask: Any) -> None:
        for action in range(4):
            mask[action] = can_slide(config, state, action)

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (Channel("tiles", self.rows, "exponent of the tile, by row and column; 0 for none"),)

    @staticmethod
    def write_observation(config: Game2048, state: State2048, seat: int, obs: Any) -> None:
        """Exponents, 0 for an empty cell."""
        for row in range(config.rows):
            for column in range(config.columns):
                obs[row, column] = state.board[row, column]

    def outcome(self, state: State2048) -> Outcome | None:
        if super().outcome(state) is None:
            return None
        score = (float(state.score),)
        best = f"the greatest tile is {2 ** int(state.board.max())}"
        if state.result[0] == WIN:
            return Outcome(("win",), score, best)
        return Outcome(("loss",) if self.goal else ("score",), score, best)

    # What the player sees

    def rules_for(self, seat: int) -> str:
        aim = f"\nMake a tile of {self.goal}: then you have won." if self.goal else ""
        return f"{super().rules_for(seat)}{aim}"

    def narrate(
        self, before: State2048 | None, actions: Mapping[int, int], after: State2048
    ) -> list[Event]:
        if before is None:
            return []
        gained = int(after.score - before.score)
        text = f"You slide {ACTIONS[actions[0]]} and make {gained}."
        return [Event("move", text, {"action": actions[0], "made": gained})]

    def describe(self, state: State2048, seat: int) -> str:
        tiles = [[str(2**t) if t else "." for t in row] for row in state.board.tolist()]
        width = max(len(tile) for row in tiles for tile in row)
        return "\n".join(" ".join(tile.rjust(width) for tile in row) for row in tiles)

    def action_text(self, state: State2048, seat: int, action: int) -> str:
        return ACTIONS[action]

    def scene(self, state: State2048, seat: int | None = None) -> Scene:
        rows = tuple(
            tuple(Piece(str(2**t), shade(t), "tile", str(2**t)) if t else None for t in row)
            for row in state.board.tolist()
        )
        return Scene(grid=Grid(rows), lines=(f"Score {state.score}",))


SHADES = ("white", "desert", "fields", "gold", "orange", "red", "purple", "blue", "green", "brown")


def shade(exponent: int) -> str:
    """The colour of a tile; the largest are black."""
    return SHADES[exponent - 1] if exponent <= len(SHADES) else "black"


def spot(config: Game2048, action: int, line: int, place: int) -> tuple[int, int]:
    """The cell of a line, counted from the wall towards which tiles slide."""
    if action == UP:
        return place, line
    if action == DOWN:
        return config.rows - 1 - place, line
    if action == LEFT:
        return line, place
    return line, config.columns - 1 - place


def slide(config: Game2048, state: State2048, action: int) -> int:
    """Slide all tiles; returns the sum of the tiles made."""
    lines, length = config.rows, config.columns
    if action in (UP, DOWN):
        lines, length = config.columns, config.rows
    gained = 0
    for line in range(lines):
        free, last = 0, 0  # the next cell to fill, and the tile before it if it may still merge
        for place in range(length):
            row, column = spot(config, action, line, place)
            tile = int(state.board[row, column])
            if tile == 0:
                continue
            state.board[row, column] = 0
            if tile == last:
                row, column = spot(config, action, line, free - 1)
                state.board[row, column] = tile + 1
                gained += 1 << (tile + 1)
                last = 0
            else:
                row, column = spot(config, action, line, free)
                state.board[row, column] = tile
                free += 1
                last = tile
    return gained


def can_slide(config: Game2048, state: State2048, action: int) -> bool:
    """Whether some tile has an empty cell or an equal tile next to it on that side."""
    south, east = SOUTHWARD[action], EASTWARD[action]
    for row in range(config.rows):
        for column in range(config.columns):
            r, c = row + south, column + east
            if not (0 <= r < config.rows and 0 <= c < config.columns):
                continue
            tile, other = state.board[row, column], state.board[r, c]
            if tile != 0 and (other == 0 or other == tile):
                return True
    return False


def is_stuck(config: Game2048, state: State2048) -> bool:
    """Whether no tile can move."""
    for action in range(4):
        if can_slide(config, state, action):
            return False
    return True


def has_tile(config: Game2048, state: State2048, number: int) -> bool:
    """Whether a tile of this number is on the board."""
    for row in range(config.rows):
        for column in range(config.columns):
            if (1 << int(state.board[row, column])) == number:
                return True
    return False


def add_tile(config: Game2048, state: State2048) -> None:
    """Put a 2, or one time in ten a 4, on an empty cell."""
    empty = 0
    for row in range(config.rows):
        for column in range(config.columns):
            empty += state.board[row, column] == 0
    left = randint(state, empty)
    for row in range(config.rows):
        for column in range(config.columns):
            if state.board[row, column] == 0:
                if left == 0:
                    state.board[row, column] = 2 if randint(state, 10) == 0 else 1
                    return
                left -= 1
