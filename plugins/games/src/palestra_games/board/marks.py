"""Boards of stones, discs and pieces of two players, in text and as pictures.

A mark is 0 for an empty cell, else 1 + the seat that owns what stands there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product

from palestra import Grid, Piece
from palestra.scene import Cell, Colour, GridStyle, Marks, mark_cells

MARKS = ".XO"  # how a mark is written
_WRITTEN = bytes.maketrans(bytes(range(len(MARKS))), MARKS.encode())
DISCS = (None, *(Piece(mark, seat, "disc") for seat, mark in enumerate(MARKS[1:])))
STONE_COLOURS: tuple[Colour, ...] = ("black", "white")  # by seat
STONES = (None, *map(partial(Piece, shape="disc"), MARKS[1:], STONE_COLOURS))
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
LETTERS = "abcdefghijklmnopqrstuvwxyz"  # of the columns, from the left


def number_labels(count: int) -> tuple[str, ...]:
    """Labels of rows or columns: ("1", "2", …)."""
    return tuple(str(number) for number in range(1, count + 1))


def text_board(rows: Iterable[Sequence[int]], labels: Sequence[str]) -> list[str]:
    """Rows of marks as lines of text, each with its label in front, aligned to the right."""
    width = max(map(len, labels))
    return [
        f"{label.rjust(width)} {' '.join(bytes(row).translate(_WRITTEN).decode())}"
        for label, row in zip(labels, rows, strict=True)
    ]


def column_letters(columns: int, labels: Sequence[str]) -> str:
    """The line above or below a `text_board` with these row labels."""
    return " ".join([" " * max(map(len, labels)), *LETTERS[:columns]])


def disc_cells(
    rows: Iterable[Sequence[int]], pieces: Sequence[Piece | None] = DISCS
) -> tuple[tuple[Piece | None, ...], ...]:
    """Rows of marks as pieces, usually discs in their owners' colours."""
    return tuple(tuple([pieces[mark] for mark in row]) for row in rows)


def disc_grid(
    rows: Sequence[Sequence[int]],
    labels: tuple[str, ...],
    *,
    style: GridStyle = "ruled",
    pieces: Sequence[Piece | None] = DISCS,
    ground: str = "",
    marks: Marks = (),
) -> Grid:
    """A picture of rows of marks, with these row labels and letters for the columns."""
    columns = len(rows[0])
    cells, letters = disc_cells(rows, pieces), tuple(LETTERS[:columns])
    grounds = ((ground,) * columns,) * len(rows) if ground else ()
    return Grid(cells, labels, letters, style=style, marks=marks, ground=grounds)


def mark_lines(rows: Sequence[Sequence[int]], length: int, *, exact: bool = False) -> Marks:
    """Winning marks on all lines of at least `length` equal marks, or of exactly as many."""
    found: set[Cell] = set()
    for row, column in product(range(len(rows)), range(len(rows[0]))):
        if rows[row][column]:
            for rise, run in DIRECTIONS:
                line = _line_from(rows, (row, column), rise, run)
                if len(line) == length or (len(line) > length and not exact):
                    found.update(line)
    return mark_cells("winning", sorted(found))


def _line_from(rows: Sequence[Sequence[int]], start: Cell, rise: int, run: int) -> list[Cell]:
    """The cells of an unbroken line that begins at a cell; none if it begins before it."""
    mark, (row, column) = rows[start[0]][start[1]], start
    if _mark_at(rows, row - rise, column - run) == mark:
        return []
    line = []
    while _mark_at(rows, row, column) == mark:
        line.append((row, column))
        row, column = row + rise, column + run
    return line


def _mark_at(rows: Sequence[Sequence[int]], row: int, column: int) -> int:
    """The mark at a place; -1 off the board."""
    inside = 0 <= row < len(rows) and 0 <= column < len(rows[0])
    return rows[row][column] if inside else -1
