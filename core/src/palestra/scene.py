"""What to draw, as plain data: a game returns it, and every renderer draws it its own way.

A `Scene` is a caption and parts, one below the other. A part says what is there (a board, hands of
cards, people round a table, a chart), never how large it is or what it looks like: renderers and
themes decide that. A colour is the number of a seat (-1: nobody's) or a name of the theme, such as
"white", "black", "red", "wood" or "gold".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Literal

Colour = int | str
Cell = tuple[int, int]  # row and column, from the top left
Shape = Literal["square", "disc", "tile", "card", "mark", "word", "small", "none"]
Facing = Literal["", "north", "east", "south", "west"]
MarkKind = Literal["last", "target", "selected", "winning", "changed"]
GridStyle = Literal["ruled", "checkered", "rack", "floor"]
SeriesKind = Literal["line", "step", "bars", "points"]
Marks = tuple[tuple[MarkKind, Cell], ...]
WidgetKind = Literal["heading", "text", "link", "button", "field", "tick", "row", "cell"]


@dataclass(frozen=True, slots=True)
class Piece:
    """Something on a cell.

    glyph: one or two characters, for places where no picture can be drawn.
    colour: the number of a seat (-1: nobody's), or a name of the theme.
    label: what it is in words, for tooltips and readers.
    sprite: names a picture of the theme ("chess-knight", "pot", "robot") or a ground that fills the
        cell ("wall", "water"); without one, or if the theme has none of that name, `shape` is drawn
        with the glyph on it.
    shape: a disc shows its glyph only if it has a label; "word" writes the label in full, "small"
        the glyph alone.
    facing: where it looks. badge: a few letters or a sprite in its corner, such as a level or a
        load.
    under: what else is on the cell: all of it is drawn, smaller (see `on_top`).
    """

    glyph: str
    colour: Colour = -1
    shape: Shape = "tile"
    label: str = ""
    sprite: str = ""
    facing: Facing = ""
    badge: str = ""
    under: tuple[Piece, ...] = ()

    def stack(self) -> tuple[Piece, ...]:
        """Everything on the cell, each by itself, from the top."""
        return (replace(self, under=()), *self.under) if self.under else (self,)


def on_top(below: Piece | None, piece: Piece) -> Piece:
    """The piece on a cell on which `below` may already be; both stay in the picture."""
    return replace(piece, under=(*piece.under, *below.stack())) if below else piece


EMPTY: Piece | None = None


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of square cells, top row first.

    cells: a `Piece` or None for each cell, row by row.
    row_labels, column_labels: what stands beside the rows and below the columns.
    style: "ruled", "checkered", "rack" or "floor".
    marks: points at cells: the last move, the legal targets.
    shaded: cells outside the viewer's sight, as (row, column).
    names: each cell's name in moves, row by row: a click on the cell writes it. Without them a cell
        is named by its column label and its row label, as in "d3".
    ground: the texture of each cell ("floor", "wall", "water"; "" for none).
    boxes: draws a heavier rule after so many rows and columns.
    """

    cells: tuple[tuple[Piece | None, ...], ...]
    row_labels: tuple[str, ...] = ()
    column_labels: tuple[str, ...] = ()
    style: GridStyle = "ruled"
    marks: Marks = ()
    shaded: frozenset[Cell] = frozenset()
    names: tuple[tuple[str, ...], ...] = ()
    ground: tuple[tuple[str, ...], ...] = ()
    boxes: tuple[int, int] = (0, 0)

    def name(self, row: int, column: int) -> str:
        """The name in moves of the cell in `row` and `column`, from 0; empty if it has none."""
        if self.names:
            return self.names[row][column]
        labels = (self.column_labels[column : column + 1], self.row_labels[row : row + 1])
        return "".join(text for label in labels for text in label)


def turned(grid: Grid) -> Grid:
    """The grid as whoever sits on its other side sees it, with its names and labels."""
    last = len(grid.cells) - 1

    def other(cell: Cell) -> Cell:
        return last - cell[0], len(grid.cells[cell[0]]) - 1 - cell[1]

    return replace(
        grid,
        cells=tuple(row[::-1] for row in grid.cells[::-1]),
        row_labels=grid.row_labels[::-1],
        column_labels=grid.column_labels[::-1],
        marks=tuple((kind, other(cell)) for kind, cell in grid.marks),
        shaded=frozenset(map(other, grid.shaded)),
        names=tuple(row[::-1] for row in grid.names[::-1]),
        ground=tuple(row[::-1] for row in grid.ground[::-1]),
    )


def mark_cells(kind: MarkKind, cells: Iterable[Cell]) -> Marks:
    """Marks of one kind on several cells of a grid."""
    return tuple((kind, cell) for cell in cells)


@dataclass(frozen=True, slots=True)
class Hex:
    """A hexagon with its point up, at axial coordinates: `q` to the right, `r` down to the right.

    `ground` is its texture or colour, `piece` what lies on it, `name` its name in moves.
    """

    q: int
    r: int
    ground: Colour = ""
    piece: Piece | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class HexEdge:
    """One side of a hexagon: 0 is the upper right one, the others follow clockwise.

    It is not drawn if its colour is ""; `name` is its name in moves.
    """

    q: int
    r: int
    side: int
    colour: Colour = -1
    label: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class HexCorner:
    """One corner of a hexagon: 0 is the top one, the others follow clockwise."""

    q: int
    r: int
    corner: int
    piece: Piece
    name: str = ""


@dataclass(frozen=True, slots=True)
class Hexes:
    """A board of hexagons, and what lies on their sides and corners."""

    tiles: tuple[Hex, ...]
    edges: tuple[HexEdge, ...] = ()
    corners: tuple[HexCorner, ...] = ()
    marks: tuple[tuple[MarkKind, int], ...] = ()  # kind and the number of the tile


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph; `place` is where it lies, from (0, 0) at the top left to (1, 1)."""

    name: str
    colour: Colour = -1
    label: str = ""
    place: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """An edge from node number `start` to node number `end`; `weight` is its thickness, 1 usual."""

    start: int
    end: int
    label: str = ""
    colour: Colour = -1
    weight: float = 1.0
    directed: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and links; nodes without a place lie on a circle."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Spot:
    """Something on a plane, its middle at (x, y), from (0, 0) at the top left to (1, 1).

    `radius` is a share of the plane's side. `heading` draws an arrow to where it moves, as a step
    (x, y) in the same units. A `landmark` is a thing on the ground: it is drawn first, without rim.
    """

    x: float
    y: float
    radius: float
    name: str = ""
    colour: Colour = -1
    label: str = ""
    landmark: bool = False
    heading: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Plane:
    """A square on which things lie and move anywhere, not in cells."""

    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A playing card; `suit` is "spades", "hearts", "diamonds", "clubs", "firework" or "".

    A hidden card shows its back. `label` is what it is in words, `badge` what is known about it.
    `sprite` names a picture of the theme to draw in the card's colour, over the rank if it has one.
    """

    rank: str = ""
    suit: str = ""
    colour: Colour = "black"
    hidden: bool = False
    label: str = ""
    badge: str = ""
    sprite: str = ""


@dataclass(frozen=True, slots=True)
class Cards:
    """A row of cards and whose they are."""

    owner: str
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class Dice:
    """A row of dice and whose they are; a value of 0 is hidden."""

    owner: str
    values: tuple[int, ...]
    colour: Colour = -1


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody at a table.

    `role` is drawn only if the viewer may know it; `detail` is anything else in a few words, such
    as "18 chips"; `vote` is the number of the person they vote for; `said` is their last sentence.
    `share` draws a column beside them, from empty (0) to full (1): a bid, a catch, a wealth.
    `chips` is what they have put on the table, drawn as a stack with its amount: a bet, an offer.
    The `dealer` has a button before them.
    """

    name: str
    colour: Colour = -1
    role: str = ""
    detail: str = ""
    cards: tuple[Card, ...] = ()
    said: str = ""
    vote: int | None = None
    out: bool = False
    acting: bool = False
    share: float | None = None
    chips: float = 0.0
    dealer: bool = False


@dataclass(frozen=True, slots=True)
class RoundTable:
    """People round a table, with cards, money and some words in its middle.

    `pot` is the money, drawn as a stack of chips with its amount; the words name it.
    `links` are arrows from person to person, such as gifts. With another `ground` than felt they
    stand round something else, such as a lake of "water", which is full up to `level`, 0 to 1.
    """

    people: tuple[Person, ...]
    cards: tuple[Card, ...] = ()
    words: str = ""
    links: tuple[Link, ...] = ()
    ground: str = "felt"
    level: float = 1.0
    pot: float = 0.0


@dataclass(frozen=True, slots=True)
class Series:
    """One line, row of bars or cloud of points of a chart, as (x, y) pairs."""

    name: str
    points: tuple[tuple[float, float], ...]
    kind: SeriesKind = "line"
    colour: Colour = -1


@dataclass(frozen=True, slots=True)
class Candle:
    """The prices of one period: at `x`, from `opened` to `closed`, within `low` and `high`."""

    x: float
    opened: float
    high: float
    low: float
    closed: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Series and candles over common axes; the labels name the quantities and their units."""

    series: tuple[Series, ...]
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    candles: tuple[Candle, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a header; cells that are numbers are aligned to the right.

    `colours` gives each row's colour, if it belongs to a seat.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    colours: tuple[Colour, ...] = ()


@dataclass(frozen=True, slots=True)
class Saying:
    """What somebody said; a program in Python (`code`) is shown in letters of one
    width, and its words, texts, numbers and comments in colours.
    """

    speaker: str
    text: str
    colour: Colour = -1
    code: bool = False


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation, oldest first."""

    sayings: tuple[Saying, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A labelled quantity out of `full`.

    label: what it is. value: how much of it there is. colour: the number of a seat, or of the
        theme.
    """

    label: str
    value: float
    full: float
    colour: Colour = -1


@dataclass(frozen=True, slots=True)
class Bars:
    """Quantities, one below the other."""

    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of text; a program between two fences, as in Markdown, has colours as in `Saying`."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Widget:
    """Something on a page or in a window.

    kind: "heading", "text", "link", "button", "field", "tick", "row" or "cell". A "row" begins a
        row of a table; its cells follow, and deeper widgets lie in the cell before.
    text: what is written on it.
    number: its name in moves (0: it cannot be acted on).
    value: the content of a field.
    chosen: whether a box is ticked, a button selected or a cell a header.
    depth: its indentation. colour: that of a button, if the page gives it one.
    """

    kind: WidgetKind
    text: str
    number: int = 0
    value: str = ""
    chosen: bool = False
    depth: int = 0
    colour: Colour = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page or window of widgets, with its address or title above."""

    widgets: tuple[Widget, ...]
    address: str = ""


Part = (
    Grid
    | Hexes
    | Graph
    | Plane
    | Cards
    | Dice
    | RoundTable
    | Chart
    | Table
    | Talk
    | Bars
    | Lines
    | Page
)


@dataclass(frozen=True, slots=True)
class Scene:
    """One picture: parts under a caption.

    caption: one line above. parts: whatever is drawn, from the top to the bottom.
    grid, bars, lines: a board, quantities and lines of text may also be given by these names; they
        follow the other parts in this order.
    colours: in which colour what is each seat's is drawn, by seat; empty: in that of its number.
    """

    caption: str = ""
    grid: Grid | None = None
    bars: tuple[Bar, ...] = ()
    lines: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    colours: tuple[Colour, ...] = ()

    def colour_of(self, seat: int) -> Colour:
        """The colour of a seat in this picture and in the list of seats beside it."""
        return self.colours[seat] if seat < len(self.colours) else seat

    def all_parts(self) -> Iterator[Part]:
        """Every part, from the top to the bottom."""
        yield from self.parts
        if self.grid is not None:
            yield self.grid
        if self.bars:
            yield Bars(self.bars)
        if self.lines:
            yield Lines(self.lines)

    def with_parts(self, parts: Iterable[Part]) -> Scene:
        """The same picture with other parts."""
        return Scene(self.caption, parts=tuple(parts), colours=self.colours)

    def texts(self) -> Iterator[str]:
        """Every text that somebody who looks at the picture may read, or a reader read aloud."""
        yield self.caption
        for part in self.all_parts():
            yield from texts_in(part)


def texts_in(value: object) -> Iterator[str]:
    """The texts anywhere in a part."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, frozenset)):
        for item in value:
            yield from texts_in(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from texts_in(getattr(value, field.name))
