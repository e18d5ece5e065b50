"""2048: slide numbered tiles together; two alike that meet become one of twice the number.

All tiles slide as far as they can in one of four directions. Two tiles of the same number that
meet merge, those nearest the wall first, and a tile made by a merge does not merge again in the
same move. After every move that changed something a 2 (nine times in ten) or a 4 appears on an
empty cell. The game is over when nothing can move. Rules after Gabriele Cirulli, "2048", 2014;
there is no published value to compare with, so the tests hold hand cases of merging and another
way to slide against it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import ArrayGame, Event, Grid, InvalidOption, Outcome, Piece, Scene, environment
from palestra.rules import WIN, finish, randint, turn_to

ACTIONS = ("up", "down", "left", "right")
UP, DOWN, LEFT, RIGHT = 0, 1, 2, 3
SOUTHWARD, EASTWARD = (-1, 1, 0, 0), (0, 0, -1, 1)


@environment(
    "games/Game2048-v0",
    family="grid",
    tags=("perfect-information", "chance"),
)
@dataclass(frozen=True)
class Game2048(ArrayGame):
    """You slide numbered tiles on a board; equal tiles that meet merge into one of their sum.

    Every turn write "up", "down", "left" or "right": all tiles slide that way as far as they can.
    Two equal tiles that run into each other merge, those nearest the wall first; a tile made in
    this move does not merge again in it. You are paid the number of every tile made. Then a new
    2, or one time in ten a 4, appears on an empty cell. A direction in which nothing would move is
    not allowed, and when there is none left the game is over.
    """

    rows: int = 4
    columns: int = 4
    goal: int = 0

    order = "sequential"
    payoffs = "general"
    num_players = 1
    num_actions = 4
    reward_terms = ("merged",)

    def __post_init__(self) -> None:
        for name, side in (("rows", self.rows), ("columns", self.columns)):
            if not 2 <= side <= 6:
                raise InvalidOption(f"{name} must be from 2 to 6, not {side}")
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

    def fields(self) -> list[tuple[Any, ...]]:
        """`board` holds exponents: 0 for an empty cell, 1 for a 2, 2 for a 4, …"""
        return [("board", np.uint8, (self.rows, self.columns)), ("score", np.int64)]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        add_tile(config, state)
        add_tile(config, state)
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
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
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(4):
            mask[action] = can_slide(config, state, action)

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """Exponents, 0 for an empty cell."""
        for row in range(config.rows):
            for column in range(config.columns):
                view[row, column] = state.board[row, column]

    def outcome(self, state: Any) -> Outcome | None:
        if not state["over"]:
            return None
        score = (float(state["score"]),)
        best = f"the greatest tile is {2 ** int(state['board'].max())}"
        if state["result"][0] == WIN:
            return Outcome(("win",), score, best)
        return Outcome(("loss",) if self.goal else ("score",), score, best)

    # What the player sees

    def rules_for(self, seat: int) -> str:
        aim = f"\nMake a tile of {self.goal}: then you have won." if self.goal else ""
        return f"{super().rules_for(seat)}{aim}"

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None:
            return []
        gained = int(after.score - before.score)
        text = f"You slide {ACTIONS[actions[0]]} and make {gained}."
        return [Event("move", text, {"action": actions[0], "made": gained})]

    def describe(self, state: Any, seat: int) -> str:
        tiles = [[str(2**t) if t else "." for t in row] for row in state.board.tolist()]
        width = max(len(tile) for row in tiles for tile in row)
        return "\n".join(" ".join(tile.rjust(width) for tile in row) for row in tiles)

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return ACTIONS[action]

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        rows = tuple(
            tuple(Piece(short(t), t % 8, "tile", str(2**t)) if t else None for t in row)
            for row in state.board.tolist()
        )
        return Scene(grid=Grid(rows), lines=(f"Score {state.score}",))


def short(exponent: int) -> str:
    """A tile in two characters: 64 as itself, 128 as "7^", its exponent."""
    return str(2**exponent) if exponent < 7 else f"{exponent}^" if exponent < 10 else f"{exponent}"


def spot(config: Any, action: int, line: int, place: int) -> tuple[int, int]:
    """The cell of a line, counted from the wall towards which tiles slide."""
    if action == UP:
        return place, line
    if action == DOWN:
        return config.rows - 1 - place, line
    if action == LEFT:
        return line, place
    return line, config.columns - 1 - place


def slide(config: Any, state: Any, action: int) -> int:
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


def can_slide(config: Any, state: Any, action: int) -> bool:
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


def is_stuck(config: Any, state: Any) -> bool:
    for action in range(4):
        if can_slide(config, state, action):
            return False
    return True


def has_tile(config: Any, state: Any, number: int) -> bool:
    for row in range(config.rows):
        for column in range(config.columns):
            if (1 << int(state.board[row, column])) == number:
                return True
    return False


def add_tile(config: Any, state: Any) -> None:
    """A 2, or one time in ten a 4, on an empty cell."""
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
