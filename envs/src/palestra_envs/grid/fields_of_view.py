"""Maps written as text, and square windows of them as a player sees them.

The first part compiles: plain functions over a state record with `row`, `column` and, where players
look somewhere, `facing`; `config` holds `rows`, `columns`, `sight` and the masks of
`Level.masks`. A cell of a window is named by how far ahead of the player it is and how far to his
right; both are negative behind him and to his left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import ArrayGame, InvalidOption

NORTH, EAST, SOUTH, WEST = range(4)
DOWN = (-1, 0, 1, 0)  # rows, by facing
ACROSS = (0, 1, 0, -1)  # columns, by facing
COMPASS = ("north", "east", "south", "west")
TURNED = ("ahead", "right", "back", "left")  # how another player faces, seen by oneself

FAR = -1000  # a row and column that nobody sees
MAX_SIDE, MAX_SIGHT = 60, 30  # a row of the map is one integer, a bit a cell


# Geometry that compiles


def ahead_of(facing: int, down: int, across: int) -> int:
    """How far ahead of somebody facing that way lies what is so far down and across the map."""
    far: int = down * DOWN[facing] + across * ACROSS[facing]
    return far


def right_of(facing: int, down: int, across: int) -> int:
    return ahead_of((facing + 1) % 4, down, across)


def window_row(state: Any, player: int, facing: int, ahead: int, right: int) -> int:
    """The row of a cell of a player's window."""
    row: int = state.row[player] + ahead * DOWN[facing] + right * DOWN[(facing + 1) % 4]
    return row


def window_column(state: Any, player: int, facing: int, ahead: int, right: int) -> int:
    column: int = state.column[player] + ahead * ACROSS[facing] + right * ACROSS[(facing + 1) % 4]
    return column


def on_map(config: Any, row: int, column: int) -> bool:
    inside: bool = 0 <= row < config.rows and 0 <= column < config.columns
    return inside


def in_sight(config: Any, state: Any, player: int, row: int, column: int) -> bool:
    """Whether a player's window covers a cell."""
    far = max(abs(row - state.row[player]), abs(column - state.column[player]))
    seen: bool = far <= config.sight
    return seen


def has_bit(masks: Any, row: int, column: int) -> bool:
    """Whether a cell is in a set of cells, given as one integer a row."""
    found: bool = masks[row] >> int(column) & 1 == 1
    return found


# Maps


@dataclass(frozen=True, slots=True)
class Level:
    """A map: rows of characters, all equally long."""

    lines: tuple[str, ...]

    @property
    def rows(self) -> int:
        return len(self.lines)

    @property
    def columns(self) -> int:
        return len(self.lines[0])

    def count(self, kinds: str) -> int:
        return sum(line.count(kind) for line in self.lines for kind in kinds)

    def masks(self, kinds: str) -> tuple[int, ...]:
        """Where these characters stand: one integer a row, bit c for column c."""
        return tuple(
            sum(1 << column for column, kind in enumerate(line) if kind in kinds)
            for line in self.lines
        )

    def text(self) -> str:
        return "\n".join(self.lines)


def read_level(text: str, kinds: Mapping[str, str]) -> Level:
    """Read a map, one line a row; `kinds` says what each character means.

    Raises `InvalidOption`, with line and column counted from 1, for anything else.
    """
    lines = text.strip("\n").split("\n")
    if len(lines) > MAX_SIDE:
        raise InvalidOption(f"level: {len(lines)} lines; a map has at most {MAX_SIDE}")
    width = len(lines[0])
    if not 0 < width <= MAX_SIDE:
        raise InvalidOption(
            f"level: line 1 has {width} characters; a map is 1 to {MAX_SIDE} characters wide"
        )
    accepted = ", ".join(f"{kind!r} {meaning}" for kind, meaning in kinds.items())
    for number, line in enumerate(lines, 1):
        for column, kind in enumerate(line, 1):
            if kind not in kinds:
                raise InvalidOption(
                    f"level: line {number}, column {column}: {kind!r} means nothing; use {accepted}"
                )
        if len(line) != width:
            raise InvalidOption(
                f"level: line {number}, column {min(len(line), width) + 1}: the line is "
                f"{len(line)} characters long, the first line {width}"
            )
    return Level(tuple(lines))


# Windows, read and put into words


def cells_of(plane: NDArray[Any]) -> Iterator[tuple[int, int, int]]:
    """How far ahead, how far right, and the value, for every cell of a window that is not 0.

    From far ahead to far behind, each row from left to right.
    """
    sight = len(plane) // 2
    for row, column in zip(*(places.tolist() for places in plane.nonzero()), strict=True):
        yield sight - row, column - sight, int(plane[row, column])


def places_of(plane: NDArray[Any]) -> list[str]:
    """The cells of a window that are not 0, written as (cells ahead, cells to the right)."""
    return [f"({ahead}, {right})" for ahead, right, _ in cells_of(plane)]


def drawn(kinds: Mapping[str, NDArray[Any]]) -> list[str]:
    """A window as text: a character for each cell of a plane that is not 0, '.' for the others.

    Where planes overlap the later one is drawn.
    """
    side = len(next(iter(kinds.values())))
    lines = [["."] * side for _ in range(side)]
    for kind, plane in kinds.items():
        for ahead, right, _ in cells_of(plane):
            lines[side // 2 - ahead][side // 2 + right] = kind
    return ["".join(line) for line in lines]


def unseen(game: ArrayGame, state: Any, player: int) -> NDArray[np.bool_]:
    """Which cells of the map lie outside a player's window."""
    row, column, sight = int(state.row[player]), int(state.column[player]), game.config.sight
    hidden = np.ones((game.config.rows, game.config.columns), np.bool_)
    rows, columns = (slice(max(0, at - sight), max(0, at + sight + 1)) for at in (row, column))
    hidden[rows, columns] = False
    return hidden


def cells_in(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Row and column of the chosen cells, row by row."""
    rows, columns = chosen.nonzero()
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
