"""Boards of stones, discs and pieces of two players, in text and as pictures.

A mark is 0 for an empty cell, else 1 + the seat that owns what stands there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from palestra import Grid, Piece
from palestra.scene import GridStyle

MARKS = ".XO"  # how a mark is written
DISCS = (None, *(Piece(mark, seat, "disc") for seat, mark in enumerate(MARKS[1:])))
STONES = (None, Piece("X", "black", "disc"), Piece("O", "white", "disc"))
LETTERS = "abcdefghijklmnopqrstuvwxyz"  # of the columns, from the left


def number_labels(count: int) -> tuple[str, ...]:
    """Labels of rows or columns: ("1", "2", …)."""
    return tuple(str(number) for number in range(1, count + 1))


def text_board(rows: Iterable[Sequence[int]], labels: Sequence[str]) -> list[str]:
    """Rows of marks as lines of text, each with its label in front, aligned to the right."""
    width = max(map(len, labels))
    return [
        " ".join([label.rjust(width), *map(MARKS.__getitem__, row)])
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
) -> Grid:
    """A picture of rows of marks, with these row labels and letters for the columns."""
    columns = len(rows[0])
    cells, letters = disc_cells(rows, pieces), tuple(LETTERS[:columns])
    grounds = ((ground,) * columns,) * len(rows) if ground else ()
    return Grid(cells, labels, letters, style=style, ground=grounds)
