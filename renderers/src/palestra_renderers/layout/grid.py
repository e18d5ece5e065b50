"""Boards of square cells, and what stands on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import ceil, sqrt

from palestra import Grid, Piece
from palestra.scene import MarkKind

from palestra_renderers.layout.sheet import Sheet, fit_text
from palestra_renderers.lettering import cut, ems, font_size, height_for, text_width
from palestra_renderers.marks import Circle, Layer, Line, Mark, Place, Polygon, Rect, Sprite, Words
from palestra_renderers.plain import clean
from palestra_renderers.sprites import has_sprite
from palestra_renderers.theme import ink_on, paint_of

LABELS = 18  # space for labels above a board, and the height of their letters
SHORT = 3  # letters of a label that is never cut
BESIDE = 110  # the most space for labels beside a board
# Grounds whose cells are told apart by a thin line of this colour
TEXTURES = (
    "wall", "water", "counter", "belt", "ice", "lava", "floor", "grass", "sand", "waste", "closed",
    "hole",
)  # fmt: skip
EDGES = {
    "floor": "seam", "grass": "forest", "sand": "desert", "goal": "target", "felt": "void",
    "ice": "ripple", "hole": "ripple",
}  # fmt: skip
Box = tuple[float, float, float, float]
TURNS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}


def lay_grid(grid: Grid, top: float, room: float, sheet: Sheet) -> float:
    """Draw a board in the space available; returns its height.

    Every cell with something on it is a layer of its own, which looks the same wherever the same
    thing stands: painters keep it, and copying it takes a tenth of drawing it.
    """
    rows, columns = len(grid.cells), max(len(row) for row in grid.cells)
    margin = LABELS if grid.column_labels or grid.row_labels else 0
    named = (text_width(clean(label), LABELS) + 4 for label in grid.row_labels)
    beside = max([margin, *(int(min(BESIDE, wide)) for wide in named)])
    across = (sheet.width - margin - beside - 12) / columns
    cell = max(4, int(min((room - margin) / rows, across, 6 * sheet.line)))
    left, y = int(sheet.width - cell * columns + beside - margin) // 2, int(top) + margin
    form = (rows, columns, cell, left, y, margin, beside)
    sheet.marks.append(
        empty_board(form, grid.style, grid.row_labels, grid.column_labels, grid.ground)
    )
    marked = {at: kind for kind, at in grid.marks}
    shaded, ground, style = grid.shaded, grid.ground, grid.style
    bare, side = not marked and not shaded, cell + (style == "ruled" and not ground)
    for r, row in enumerate(grid.cells):
        for c, piece in enumerate(row):
            if piece is None and bare:
                continue
            at = (r, c)
            kind = marked.get(at)
            if piece is None and kind is None and at not in shaded:
                continue
            under = ground[r][c] if ground else ""
            marks = tile(piece, style, (r + c) % 2, under, kind, at in shaded, cell)
            sheet.marks.append(Layer(left + c * cell, y + r * cell, side, side, marks))
    sheet.marks += rules(form, grid.boxes)
    if grid.names or margin:
        sheet.places += named_cells(form, grid.names, grid.row_labels, grid.column_labels)
    return cell * rows + margin


@lru_cache(maxsize=4096)
def tile(
    piece: Piece | None,
    style: str,
    odd: int,
    ground: str,
    kind: MarkKind | None,
    shaded: bool,
    cell: int,
) -> tuple[Mark, ...]:
    """One cell with what stands on it, its upper left corner at (0, 0)."""
    sheet, box = Sheet(cell, cell), (0, 0, cell, cell)
    if style == "rack":
        sheet.marks.append(Rect(0, 0, cell, cell, "rack"))
    sheet.marks += covered_cell(ground, style, box) if ground else bare_cell(style, 0, odd, box)
    if kind is not None and FILLS[kind]:
        sheet.marks.append(Rect(0, 0, cell, cell, FILLS[kind]))
    if shaded:
        sheet.marks.append(Rect(0, 0, cell, cell, "shade"))
    if piece is not None:
        lay_piece(piece, box, sheet)
    if kind is not None:
        sheet.marks += pointer(kind, box, empty=piece is None)
    return tuple(sheet.marks)


FILLS: dict[MarkKind, str] = {
    "last": "last",
    "target": "",
    "selected": "last",
    "winning": "goal",
    "changed": "",
}


def pointer(kind: MarkKind, box: Box, *, empty: bool) -> list[Mark]:
    """What points at a cell, over what stands there: a legal target has a dot or a ring."""
    x, y, cell, _ = box
    thick = max(2, cell // 14)
    if kind == "target":
        middle = (x + cell / 2, y + cell / 2)
        if empty:
            return [Circle(*middle, cell / 7, "target")]
        return [Circle(*middle, cell * 0.46, "", "target", thick)]
    edge = {"winning": "winning", "changed": "mark", "selected": "ink"}.get(kind)
    inset = thick / 2
    return [Rect(x + inset, y + inset, cell - thick, cell - thick, "", edge, thick)] if edge else []


@lru_cache(maxsize=64)
def named_cells(
    form: tuple[int, ...],
    names: tuple[tuple[str, ...], ...],
    row_labels: tuple[str, ...],
    column_labels: tuple[str, ...],
) -> tuple[Place, ...]:
    """Every cell that has a name in moves, which can be clicked."""
    rows, columns, cell, left, top = form[:5]
    empty: tuple[Piece | None, ...] = (None,) * columns
    grid = Grid((empty,) * rows, row_labels, column_labels, names=names)
    return tuple(
        Place((left + c * cell, top + r * cell, cell, cell), name)
        for r in range(rows)
        for c in range(len(names[r]) if names else columns)
        if (name := grid.name(r, c))
    )


@lru_cache(maxsize=64)
def empty_board(
    form: tuple[int, ...],
    style: str,
    row_labels: tuple[str, ...],
    column_labels: tuple[str, ...],
    ground: tuple[tuple[str, ...], ...],
) -> Layer:
    """The board without pieces: one layer, drawn once for as long as nothing of it changes."""
    rows, columns, cell, left, top, margin, beside = form
    marks: list[Mark] = []
    wide, high = cell * columns, cell * rows
    x, y = beside + 8, margin  # of the first cell in the layer
    if style == "rack":
        marks.append(Rect(x, y, wide + 1, high + 1, "rack", radius=cell // 6))
    for r in range(rows):
        for c in range(columns):
            named = ground[r][c] if ground and c < len(ground[r]) else ""
            box = (x + c * cell, y + r * cell, cell, cell)
            marks += covered_cell(named, style, box) if named else bare_cell(style, r, c, box)
    height = min(LABELS, max(13, cell * 0.6))
    shown = every_so_many(column_labels[:columns], cell, height)
    for number in range(0, min(columns, len(column_labels)), shown):
        at, text = x + number * cell + cell / 2, clean(column_labels[number])
        text = cut(text, shown * cell, height)
        marks.append(Words(at, y - LABELS / 2, text, height, "quiet", "middle"))
    for number in range(0, min(rows, len(row_labels)), ceil(font_size(height) / cell)):
        at, label = y + number * cell + cell / 2, row_labels[number]
        marks.append(
            Words(x - 4, at, cut(clean(label), BESIDE - 4, height), height, "quiet", "end")
        )
    return Layer(left - x, top - y, wide + x + 2, high + y + 1, tuple(marks))


def every_so_many(labels: Sequence[str], cell: float, height: float) -> int:
    """How many columns share a label, so that short ones such as numbers are whole and apart.

    Words are cut at the width of their column instead.
    """
    wide = max((text_width(clean(label), height) for label in labels), default=0.0)
    if wide <= cell or any(len(label) > SHORT for label in labels):
        return 1
    return ceil((wide + 3) / cell)


def bare_cell(style: str, row: int, column: int, box: Box) -> list[Mark]:
    x, y, cell, _ = box
    if style == "rack":
        return [Circle(x + cell / 2, y + cell / 2, cell * 0.4, "hole")]
    if style == "checkered":
        return [Rect(x, y, cell, cell, "dark" if (row + column) % 2 else "light")]
    if style == "floor":
        return [Rect(x, y, cell, cell, "floor", EDGES["floor"])]
    return [Rect(x, y, cell + 1, cell + 1, "cell", "faint")]


def covered_cell(ground: str, style: str, box: Box) -> list[Mark]:
    """A cell with a ground; on a floor a plain one has the lines of a floor."""
    marks = texture(ground, box)
    if style == "floor" and ground not in TEXTURES:
        x, y, cell, _ = box
        marks.append(Rect(x, y, cell, cell, "", EDGES["floor"]))
    return marks


def texture(name: str, box: Box) -> list[Mark]:
    """A cell's ground: its colour, and a few lines that tell it from others without colour."""
    x, y, cell, _ = box
    marks: list[Mark] = [Rect(x, y, cell, cell, paint_of(name))]
    half, third = cell / 2, cell / 3
    if name == "wall":
        for course in range(3):
            v = y + course * third
            marks.append(Line(((x, v), (x + cell, v)), "mortar"))
            at = x + (half if course % 2 else cell / 4)
            for joint in (at, at + half) if not course % 2 else (at,):
                marks.append(Line(((joint, v), (joint, v + third)), "mortar"))
    elif name == "water":
        for level in (0.3, 0.65):
            v = y + cell * level
            wave = ((x + cell * 0.15, v), (x + cell * 0.35, v - 2), (x + cell * 0.55, v))
            marks.append(Line((*wave, (x + cell * 0.75, v - 2)), "ripple"))
    elif name == "counter":
        marks.append(Rect(x, y, cell, cell, "", "grain"))
    elif name == "belt":
        for level in (0.25, 0.5, 0.75):
            marks.append(Line(((x, y + cell * level), (x + cell, y + cell * level)), "wall"))
    elif name == "closed":  # a stone that can be lifted: lit from above, in shadow below
        rim = max(2, cell // 10)
        marks = [Rect(x, y, cell, cell, "nobody"), Rect(x, y, cell - rim, cell - rim, "white")]
        marks.append(Rect(x + rim, y + rim, cell - 2 * rim, cell - 2 * rim, "silver"))
    elif name == "hole":  # broken ice
        marks = [Rect(x, y, cell, cell, "ice"), Circle(x + half, y + half, cell * 0.42, "water")]
        marks.append(Circle(x + half, y + half * 1.1, cell * 0.32, "blue"))
    elif name == "lane":  # a road with a broken line along its lower side
        marks = [Rect(x, y, cell, cell, "road")]
        marks.append(Rect(x + cell / 4, y + cell - 2, half, 3, "white"))
    elif name == "ice":
        marks.append(Line(((x + third, y + cell * 0.7), (x + 2 * third, y + third)), "white", 2))
    if name in EDGES:
        marks.append(Rect(x, y, cell, cell, "", EDGES[name]))
    return marks


def rules(form: tuple[int, ...], boxes: tuple[int, int]) -> list[Mark]:
    """Heavier lines after so many rows and columns."""
    rows, columns, cell, left, top = form[:5]
    wide, high = cell * columns, cell * rows
    marks: list[Mark] = []
    if boxes[0]:
        for row in range(0, rows + 1, boxes[0]):
            v = top + row * cell
            marks.append(Line(((left, v), (left + wide, v)), "ink", 2))
    if boxes[1]:
        for column in range(0, columns + 1, boxes[1]):
            x = left + column * cell
            marks.append(Line(((x, top), (x, top + high)), "ink", 2))
    return marks


def lay_piece(piece: Piece, box: Box, sheet: Sheet, *, token: bool = False) -> None:
    """What stands on a cell: its sprite, or else its shape with the glyph on it.

    Pieces that share a cell lie where `shared_boxes` says. On a coloured ground what is written
    lies on a `token`.
    """
    x, y, cell, _ = box
    if piece.under:
        stack = piece.stack()
        for one, part in zip(stack, shared_boxes(len(stack), box), strict=True):
            lay_piece(one, part, sheet)
        return
    cx, cy = x + cell / 2, y + cell / 2
    paint = paint_of(piece.colour)
    if piece.facing and not (piece.sprite in PEOPLE and cell < SMALL):
        sheet.marks.append(wedge(piece.facing, (cx, cy), cell))
    if piece.sprite in TEXTURES:
        sheet.marks += texture(piece.sprite, box)
    elif piece.sprite in PEOPLE and cell < SMALL:
        lay_pawn(piece, paint, box, sheet)
    elif piece.sprite and has_sprite(piece.sprite):
        edge = "white" if paint == "black" else "black"
        size = cell * (
            0.78 if piece.facing else 0.92
        )  # the point that says where they look is free
        sheet.marks.append(Sprite(cx, cy, size, piece.sprite, paint, edge))
        if piece.sprite == "robot" and piece.glyph.isdigit() and not piece.badge:
            piece = replace(piece, badge=piece.glyph)
        elif piece.sprite in PEOPLE and piece.glyph.isdigit():
            number = Words(cx, y + cell * 0.7, piece.glyph, cell * 0.32, ink_on(paint), "middle")
            sheet.marks.append(number)
    elif piece.shape == "mark":
        plain = paint == "black" and not token
        lay_mark(piece, "ink" if plain else paint, (cx, cy), cell, sheet)
    elif piece.shape == "small":
        shown = clean(piece.glyph, 3)
        sheet.marks.append(Words(cx, cy, shown, max(8, cell * 0.4), "quiet", "middle"))
    elif piece.shape == "word":
        lay_word(piece, paint, box, sheet)
    else:
        lay_shape(piece, paint, box, sheet)
    if has_sprite(piece.badge):
        half = cell * 0.24
        sheet.marks.append(
            Sprite(x + cell - half, y + half, 2 * half, piece.badge, "gold", "black")
        )
    elif "/" in piece.badge and piece.badge.replace("/", "").isdigit():
        lay_dots(piece.badge, box, sheet)
    elif piece.badge and cell >= BADGED:
        radius = max(min(6.0, cell * 0.26), cell / 5)
        bx, by = x + cell - radius, y + radius
        sheet.marks.append(Circle(bx, by, radius, "panel", "ink"))
        sheet.write(piece.badge, bx, by, room=3 * radius, height=radius * 1.7, anchor="middle")


PAIR = 0.64  # of a cell: each of two that share it, in opposite corners
BADGED = 11  # pixels of a cell below which a badge would be a blot
SMALL_PAIR = 0.56  # in a small cell, where one would hide the other's number


def shared_boxes(count: int, box: Box) -> list[Box]:
    """Where so many things stand that share a cell: a pair in opposite corners, more in rows."""
    x, y, cell, _ = box
    if count == 2:
        part = (PAIR if cell >= SMALL else SMALL_PAIR) * cell
        return [(x, y, part, part), (x + cell - part, y + cell - part, part, part)]
    side = ceil(sqrt(count))
    part, rows = cell / side, ceil(count / side)
    y += (side - rows) * part / 2
    return [
        (x + place % side * part, y + place // side * part, part, part) for place in range(count)
    ]


PEOPLE, SMALL = ("person", "robot", "cook"), 30  # pixels below which a figure is a disc


def lay_pawn(piece: Piece, paint: str, box: Box, sheet: Sheet) -> None:
    """Somebody in a small cell: a disc in their colour that looks where they do."""
    x, y, cell, _ = box
    middle = (x + cell / 2, y + cell / 2)
    sheet.marks.append(Circle(*middle, cell * 0.5, paint, "black", max(1, cell // 10)))
    if not piece.facing:
        height = max(9, height_for(piece.glyph, cell * 0.7, cell * 0.75))
        if piece.glyph.isdigit() and font_size(height) * ems(piece.glyph) < cell:
            aside = (
                cell * 0.12 if piece.badge and cell >= BADGED else 0.0
            )  # its badge has the corner
            at = (middle[0] - aside, middle[1] + 1.5 * aside)
            sheet.marks.append(Words(*at, piece.glyph, height, ink_on(paint), "middle"))
        return
    (cx, cy), (a, b) = middle, TURNS[piece.facing]
    eye = cell * 0.2
    for side in (-1, 1):
        at = (cx + a * eye - side * b * eye, cy + b * eye + side * a * eye)
        sheet.marks.append(Circle(*at, max(1.5, cell * 0.12), "white", "black"))
        pupil = (at[0] + a * cell * 0.05, at[1] + b * cell * 0.05)
        sheet.marks.append(Circle(*pupil, max(0.8, cell * 0.06), "black"))


def lay_dots(badge: str, box: Box, sheet: Sheet) -> None:
    """A badge such as 2/3 as three dots in the corner, two of them full."""
    x, y, cell, _ = box
    full, whole = (int(text) for text in badge.split("/"))
    radius = max(2.5, min(cell / 9, cell / 2.4 / max(1, whole)))
    for number in range(min(whole, 12)):
        at = (x + cell - radius * (1.2 + 2.4 * (whole - 1 - number)), y + radius * 1.3)
        sheet.marks.append(Circle(*at, radius, "gold" if number < full else "panel", "ink"))


def lay_shape(piece: Piece, paint: str, box: Box, sheet: Sheet) -> None:
    x, y, cell, _ = box
    cx, cy = x + cell / 2, y + cell / 2
    shown = clean(piece.glyph, 5)
    if piece.shape == "disc":
        sheet.dot(cx, cy, cell * 0.4, paint)
    elif piece.shape == "none":
        paint = "cell"
    else:
        inset = max(1, cell // 12)
        side = cell - 2 * inset
        sheet.marks.append(Rect(x + inset, y + inset, side, side, paint, "", 1, cell // 8))
    if piece.label or piece.shape != "disc":
        height = height_for(shown, cell * 0.84, cell * 0.6)
        ink = "ink" if piece.shape == "none" else ink_on(paint)
        sheet.marks.append(Words(cx, cy, shown, max(9, height), ink, "middle"))


MARKS = {"X": "cross", "O": "ring"}


def lay_mark(
    piece: Piece, paint: str, middle: tuple[float, float], cell: float, sheet: Sheet
) -> None:
    """Noughts and crosses as pictures; anything else written, in a colour of its own on a token."""
    (x, y), name = middle, MARKS.get(piece.glyph)
    if name is not None:
        sheet.marks.append(Sprite(x, y, cell * 0.8, name, paint, "black"))
        return
    shown = clean(piece.glyph, 3)
    own = isinstance(piece.colour, str) and paint != "ink"
    height = max(9, height_for(shown, cell * (0.6 if own else 0.84), cell * 0.7))
    if own:
        sheet.marks.append(Circle(x, y, max(height * 0.55, cell * 0.42), "white", "quiet"))
    sheet.marks.append(Words(x, y, shown, height, paint if own else "ink", "middle"))


def lay_word(piece: Piece, paint: str, box: Box, sheet: Sheet) -> None:
    """The label in full, on a card as large as the cell."""
    x, y, cell, _ = box
    inset = max(2, cell // 14)  # a ground in another colour shows as a frame
    side = cell - 2 * inset
    sheet.marks.append(Rect(x + inset, y + inset, side, side, paint, "quiet", 1, 4))
    lines, height = fit_text(clean(piece.label or piece.glyph), side - 4, side - 4, cell / 4)
    start = y + cell / 2 - height * (len(lines) - 1) / 2
    for number, text in enumerate(lines):
        at = start + number * height
        sheet.marks.append(Words(x + cell / 2, at, text, height, ink_on(paint), "middle"))


def wedge(facing: str, middle: tuple[float, float], cell: float) -> Polygon:
    """A triangle at the rim of a cell, on the side somebody looks to."""
    (x, y), (a, b) = middle, TURNS[facing]
    far, near, half = cell * 0.49, cell * 0.3, cell * 0.2
    side = ((x + a * near - b * half, y + b * near + a * half),)
    other = (x + a * near + b * half, y + b * near - a * half)
    return Polygon((*side, (x + a * far, y + b * far), other), "ink")
