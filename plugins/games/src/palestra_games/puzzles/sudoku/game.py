"""Sudoku: fill a square so that every row, column and box has every digit once.

A square of 9x9 cells (or 4x4) with some digits given is filled digit by digit. A digit may be
written where its row, column and box do not have it yet; digits cannot be erased, so a wrong digit
eventually loses. Every puzzle has exactly one solution: puzzles are drawn by changing stock ones in
ways that leave them one solution (digits renamed; rows and columns exchanged within bands, and
bands with each other; the square mirrored) and by revealing more digits. There are 288 complete
squares of 4x4 (Felgenhauer and Jarvis, "Mathematics of Sudoku", 2006), which the tests count.

Checked: there are 288 complete squares of 4 x 4; a published puzzle has its published solution;
drawn puzzles have exactly one.

Left out: erasing a digit: a wrong digit loses in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import isqrt
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Bar,
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
    constant,
    environment,
)
from palestra.rules import LOSS, WIN, finish, randint, turn_to

from palestra_games.puzzles.sudoku.solver import solutions

LETTERS, SYMBOLS = "abcdefghi", ".123456789"
BITS = 4  # a digit in a packed row
STOCK = {
    4: ("0000000204000103", "0000000301003002", "0000001002003004", "0000002120000030"),
    9: (
        "080005000140300009600000014009002000050870206000000000300600800000020000007000900",
        "160039000000000800520080300000000159000047030000000000090760020300000570000000000",
        "000000060004050200790300000050006008002090003180700050800000500000601000000000940",
        "000001070010009260800000400009000086070600005003000020000000000008002003200093100",
    ),
}


class SudokuState(ArrayState):
    """A square in progress, and how it was made from the stock puzzle."""

    grid: Annotated[NDArray[np.uint8], Shape("side", "side")]  # digits; 0 for an empty cell
    given: Annotated[NDArray[np.uint8], Shape("side", "side")]  # 1 where the digit was given
    digits: Annotated[
        NDArray[np.uint8], Shape("side")
    ]  # for every stock digit - 1, its new digit - 1
    rows: Annotated[NDArray[np.uint8], Shape("side")]  # the row of the stock that each row shows
    columns: Annotated[NDArray[np.uint8], Shape("side")]
    band: Annotated[NDArray[np.uint8], Shape("side")]  # scratch: the order of bands being drawn
    left: Annotated[int, np.int32]  # empty cells
    in_row: Annotated[NDArray[np.int16], Shape("side")]  # the digits of each row, bit 0 for 1
    in_column: Annotated[NDArray[np.int16], Shape("side")]
    in_box: Annotated[NDArray[np.int16], Shape("side")]  # boxes are numbered row by row


@environment(
    "games/Sudoku-v0",
    family="grid",
    tags=("perfect-information", "deterministic", "planning"),
)
@dataclass(frozen=True)
class Sudoku(ArrayGame[SudokuState]):
    """Sudoku: fill a square so that every row, column and box has each digit once.

    Action `(row * side + column) * side + digit - 1` writes a digit into an empty cell; a digit
    that the cell's row, column or box has already is not legal. An observation is two planes by row
    and column: digits, 0 for an empty cell; and 1 where the digit was given. A full square pays 1;
    a cell that no digit fits ends the game and pays nothing.
    """

    side: Annotated[
        Literal[4, 9], Meta(description="rows, columns and digits; a `puzzle` sets its own")
    ] = 9
    givens: Annotated[
        int | None,
        Meta(ge=0, le=80, description="fewest digits given; by default 6 on side 4, 32 on 9"),
    ] = None
    puzzle: Annotated[
        str,
        Meta(description="16 or 81 digits row by row, 0 or . for an empty cell; empty: drawn"),
    ] = ""

    vocabulary = Vocabulary(
        words=("box", "digit"),
        cells=True,
        instead={
            "Columns are named by letters from the left, rows by numbers from the top.": (
                "Columns are named by letters, rows by numbers, which stand beside the square."
            )
        },
    )
    rules_text = """
        You fill a square so that every row, every column and every box has each digit once.

        Columns are named by letters from the left, rows by numbers from the top. In every turn
        write one digit into an empty cell: the cell, = and the digit, such as "b3=7". A digit that
        the cell's row, column or box already has is not allowed. What is written stays; there is
        exactly one solution. You are paid 1 when the square is full, and 0 if you get stuck: the
        game is over as soon as an empty cell has no digit left.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "general"
    num_players = 1
    deterministic = True
    reward_terms = ("solved",)
    payoff_bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.puzzle:
            object.__setattr__(self, "puzzle", self.puzzle.replace(".", "0"))
            object.__setattr__(self, "side", isqrt(len(self.puzzle)))

    def validate(self) -> None:
        if self.puzzle:
            check_puzzle(self.puzzle.replace(".", "0"))
        elif self.givens is not None and self.givens >= self.side**2:
            raise InvalidOption(f"givens must be from 0 to {self.side**2 - 1}, not {self.givens}")

    # Derived from the options

    @constant
    def box(self) -> int:
        """Rows and columns of a box."""
        return isqrt(self.side)

    @constant
    def fewest(self) -> int:
        """The fewest digits given; the stock puzzles have 4 of 16, or up to 23 of 81."""
        if self.givens is not None:
            return self.givens
        return 6 if self.side == 4 else 32

    @constant
    def is_generated(self) -> bool:
        """Whether every episode draws a puzzle of its own."""
        return not self.puzzle

    @cached_property
    def stock(self) -> tuple[str, ...]:
        return (self.puzzle,) if self.puzzle else STOCK[self.side]

    @constant
    def stock_size(self) -> int:
        return len(self.stock)

    @constant
    def puzzle_rows(self) -> tuple[int, ...]:
        """The rows of all stock puzzles, packed."""
        return tuple(row for text in self.stock for row in pack_rows(text, self.side))

    @constant
    def solution_rows(self) -> tuple[int, ...]:
        """The rows of their solutions, packed."""
        texts = ("".join(map(str, next(solutions(list(map(int, p)))))) for p in self.stock)
        return tuple(row for text in texts for row in pack_rows(text, self.side))

    @property
    def num_actions(self) -> int:
        return self.side**3

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (2, self.side, self.side)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (0, self.side)

    # The rules

    @staticmethod
    def init_state(config: Sudoku, state: SudokuState) -> None:
        side = config.side
        which = randint(state, config.stock_size) * side
        for place in range(side):
            state.digits[place], state.rows[place], state.columns[place] = place, place, place
        flipped = 0
        if config.is_generated:
            mix(state, state.digits, 0, side)
            mix_lines(config, state, state.rows)
            mix_lines(config, state, state.columns)
            flipped = randint(state, 2)
        state.left = 0
        for row in range(side):
            for column in range(side):
                digit = stock_digit(config, state, which, flipped, row, column, 0)
                state.grid[row, column] = digit
                state.left += digit == 0
        give_more(config, state, which, flipped)
        for row in range(side):
            for column in range(side):
                state.given[row, column] = state.grid[row, column] != 0
        note_digits(config, state)
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Sudoku, state: SudokuState, actions: Any, out: Any) -> None:
        cell, digit = actions[0] // config.side, actions[0] % config.side + 1
        row, column = cell // config.side, cell % config.side
        state.grid[row, column] = digit
        note_digit(config, state, row, column)
        state.left -= 1
        if state.left == 0:
            out.rewards[0, 0] = 1.0
            state.result[0] = WIN
            finish(state)
        elif is_stuck(config, state):
            state.result[0] = LOSS
            finish(state)

    @staticmethod
    def write_legal_mask(config: Sudoku, state: SudokuState, seat: int, mask: Any) -> None:
        side = config.side
        for row in range(side):
            for column in range(side):
                taken = taken_at(config, state, row, column)
                free = ~taken if state.grid[row, column] == 0 else 0
                for digit in range(side):
                    mask[(row * side + column) * side + digit] = free >> digit & 1

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        return (
            Channel("digits", 1, "the digit of each cell, 0 for an empty one"),
            Channel("given", 1, "1 where the digit was given"),
        )

    @staticmethod
    def write_observation(config: Sudoku, state: SudokuState, seat: int, obs: Any) -> None:
        """Digits, 0 for an empty cell; and whether they were given."""
        for row in range(config.side):
            for column in range(config.side):
                obs[0, row, column] = state.grid[row, column]
                obs[1, row, column] = state.given[row, column]

    def outcome(self, state: SudokuState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        won = ended.results[0] == "win"
        reason = "the square is full" if won else "an empty cell has no digit left"
        return Outcome(ended.results, (float(won),), reason)

    def record_facts(self, state: SudokuState) -> dict[str, Any]:
        """Facts for the record: the share of cells filled of those that were not given."""
        empty = int((state.given == 0).sum())
        return {"progress": 1 - int(state.left) / empty if empty else 1.0}

    # What the player sees

    def rules_for(self, seat: int) -> str:
        box = f"{self.box}x{self.box}"
        return f"{super().rules_for(seat)}\nDigits are 1 to {self.side}; boxes are {box}."

    def narrate(
        self, before: SudokuState | None, actions: Mapping[int, int], after: SudokuState
    ) -> list[Event]:
        if before is None:
            return []
        text = f"You write {self.action_text(before, 0, actions[0])}."
        return [Event("move", text, {"action": actions[0]})]

    def describe(self, state: SudokuState, seat: int) -> str:
        box = self.box
        lines = ["  " + blocks(list(LETTERS[: self.side]), box, "  ")]
        for number, row in enumerate(state.grid.tolist(), 1):
            lines.append(f"{number} {blocks([SYMBOLS[d] for d in row], box, '| ')}")
            if number % box == 0 and number < self.side:
                lines.append("  " + "+-".join(["--" * box] * box).rstrip())
        return "\n".join([*lines, f"Empty cells: {state.left}."])

    def action_text(self, state: SudokuState, seat: int, action: int) -> str:
        cell, digit = divmod(action, self.side)
        row, column = divmod(cell, self.side)
        return f"{LETTERS[column]}{row + 1}={digit + 1}"

    def scene(self, state: SudokuState, seat: int | None = None) -> Scene:
        rows = tuple(
            tuple(
                Piece(str(d), "black" if given else "blue", "mark") if d else None
                for d, given in zip(digits, givens, strict=True)
            )
            for digits, givens in zip(state.grid.tolist(), state.given.tolist(), strict=True)
        )
        labels = tuple(str(n + 1) for n in range(self.side)), tuple(LETTERS[: self.side])
        cells = float(self.side**2)
        side = isqrt(self.side)
        grid = Grid(rows, *labels, boxes=(side, side))
        return Scene(grid=grid, bars=(Bar("filled", cells - state.left, cells),))


def check_puzzle(text: str) -> None:
    """Raise `InvalidOption` for a text that is no puzzle with exactly one solution."""
    side = {16: 4, 81: 9}.get(len(text), 0)
    if not side or not set(text) <= set("0123456789"[: side + 1]) or "0" not in text:
        raise InvalidOption(
            "puzzle must be 16 or 81 digits row by row, 0 or . for an empty cell, one at least"
        )
    if len(list(islice(solutions(list(map(int, text))), 2))) != 1:
        raise InvalidOption("puzzle must have exactly one solution")


def blocks(marks: list[str], box: int, between: str) -> str:
    """A row of marks, with `between` where one box ends and the next begins."""
    parts = [" ".join(marks[at : at + box]) + " " for at in range(0, len(marks), box)]
    return between.join(parts).rstrip()


def pack_rows(text: str, side: int) -> list[int]:
    """Rows of digits as numbers, the first digit in the lowest bits."""
    rows = (text[at : at + side] for at in range(0, side * side, side))
    return [sum(int(d) << (BITS * place) for place, d in enumerate(row)) for row in rows]


def stock_digit(
    config: Sudoku,
    state: SudokuState,
    which: int,
    flipped: int,
    row: int,
    column: int,
    solution: int,
) -> int:
    """A digit of the stock puzzle as it was changed, or of its solution."""
    r, c = state.rows[row], state.columns[column]
    if flipped:
        r, c = c, r
    line = config.solution_rows[which + r] if solution else config.puzzle_rows[which + r]
    digit = line >> (BITS * int(c)) & 15
    return int(state.digits[digit - 1]) + 1 if digit else 0


def mix(state: SudokuState, items: Any, start: int, count: int) -> None:
    """Shuffle a part of an array."""
    for i in range(count - 1, 0, -1):
        j = randint(state, i + 1)
        held = items[start + i]
        items[start + i] = items[start + j]
        items[start + j] = held


def mix_lines(config: Sudoku, state: SudokuState, lines: Any) -> None:
    """Exchange lines within their bands, and bands with each other."""
    for place in range(config.box):
        state.band[place] = place
    mix(state, state.band, 0, config.box)
    for place in range(config.side):
        lines[place] = state.band[place // config.box] * config.box + place % config.box
    for start in range(0, config.side, config.box):
        mix(state, lines, start, config.box)


def give_more(config: Sudoku, state: SudokuState, which: int, flipped: int) -> None:
    """Fill cells with their solution until there are as many givens as asked for."""
    if not config.is_generated:
        return
    side = config.side
    while side * side - state.left < config.fewest:
        cell = randint(state, side * side)
        row, column = cell // side, cell % side
        if state.grid[row, column] == 0:
            state.grid[row, column] = stock_digit(config, state, which, flipped, row, column, 1)
            state.left -= 1


def note_digits(config: Sudoku, state: SudokuState) -> None:
    """Write down the digits of every row, column and box."""
    for line in range(config.side):
        state.in_row[line], state.in_column[line], state.in_box[line] = 0, 0, 0
    for row in range(config.side):
        for column in range(config.side):
            if state.grid[row, column] != 0:
                note_digit(config, state, row, column)


def note_digit(config: Sudoku, state: SudokuState, row: int, column: int) -> None:
    """Write down that row, column and box of a cell have its digit."""
    digit = 1 << (int(state.grid[row, column]) - 1)
    state.in_row[row] |= digit
    state.in_column[column] |= digit
    state.in_box[box_of(config, row, column)] |= digit


def box_of(config: Sudoku, row: int, column: int) -> int:
    """The number of a cell's box."""
    return row // config.box * config.box + column // config.box


def taken_at(config: Sudoku, state: SudokuState, row: int, column: int) -> int:
    """The digits that a cell's row, column or box has, bit 0 for 1."""
    lines = int(state.in_row[row]) | int(state.in_column[column])
    return lines | int(state.in_box[box_of(config, row, column)])


def is_stuck(config: Sudoku, state: SudokuState) -> bool:
    """Whether no digit fits some empty cell."""
    every, stuck = (1 << config.side) - 1, 0
    for row in range(config.side):
        for column in range(config.side):  # no jumps: which cells are empty is hard to predict
            full = taken_at(config, state, row, column) == every
            stuck |= int(full) & int(state.grid[row, column] == 0)
    return stuck != 0
