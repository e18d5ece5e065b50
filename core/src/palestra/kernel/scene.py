"""What to draw, as plain data: a game returns it, and every renderer draws it its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Shape = Literal["square", "disc", "tile", "card", "mark"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Something on a cell.

    `colour` is an index into the renderer's palette (-1: neutral), one per seat by convention;
    `glyph` is one or two characters, `label` what it is in words, for tooltips and readers. A disc
    shows its glyph only if it has a label.
    """

    glyph: str
    colour: int = -1
    shape: Shape = "tile"
    label: str = ""


EMPTY: Piece | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells, top row first; `shaded` cells are outside the viewer's sight.

    `names` holds each cell's name in moves, row by row: a click on the cell writes it. Without
    `names` a cell is named by its column label and its row label, as in "d3".
    """

    cells: tuple[tuple[Piece | None, ...], ...]
    row_labels: tuple[str, ...] = ()
    column_labels: tuple[str, ...] = ()
    checkered: bool = False
    highlighted: frozenset[tuple[int, int]] = frozenset()
    shaded: frozenset[tuple[int, int]] = frozenset()
    names: tuple[tuple[str, ...], ...] = ()

    def name(self, row: int, column: int) -> str:
        """A cell's name in moves; empty if it has none."""
        if self.names:
            return self.names[row][column]
        labels = (self.column_labels[column : column + 1], self.row_labels[row : row + 1])
        return "".join(text for label in labels for text in label)


@dataclass(frozen=True, slots=True)
class Bar:
    """A labelled quantity out of `full`."""

    label: str
    value: float
    full: float
    colour: int = -1


WidgetKind = Literal["heading", "text", "link", "button", "field", "tick"]


@dataclass(frozen=True, slots=True)
class Widget:
    """Something on a page or in a window.

    `number` is its name in moves (0: it cannot be acted on), `value` the content of a field,
    `chosen` whether a box is ticked or a button selected, `depth` its indentation.
    """

    kind: WidgetKind
    text: str
    number: int = 0
    value: str = ""
    chosen: bool = False
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture: any of a grid, cards, bars, a page and lines of text, under a caption."""

    caption: str = ""
    grid: Grid | None = None
    hands: tuple[tuple[str, tuple[Piece, ...]], ...] = ()
    bars: tuple[Bar, ...] = ()
    lines: tuple[str, ...] = ()
    widgets: tuple[Widget, ...] = ()
