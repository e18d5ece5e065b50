"""A scene in plain text: what the terminal, the mode "ansi" and screen readers show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from palestra import Episode, Grid, Piece, Scene, Widget, renderer
from palestra.endings import number_text
from palestra.scene import (
    Bars,
    Card,
    Cards,
    Chart,
    Colour,
    Dice,
    Graph,
    Hexes,
    Lines,
    Page,
    Plane,
    RoundTable,
    Table,
    Talk,
)

from palestra_renderers.changes import scene_of
from palestra_renderers.layout.pages import read_rows
from palestra_renderers.plain import clean, ending, status_lines
from palestra_renderers.sprites import has_sprite

SUITS = {"spades": "♠", "hearts": "♥", "diamonds": "♦", "clubs": "♣"}
BLOCKS = "▁▂▃▄▅▆▇█"
SPARKS = 40  # letters of a chart's line
GROUNDS = {
    "wall": "#", "water": "~", "counter": "=", "lava": "^", "ice": "_",
    "white": "w", "grey": "g", "brown": "b",
}  # fmt: skip


def scene_lines(scene: Scene) -> list[str]:
    """A whole scene, line by line."""
    lines = [clean(scene.caption)] if scene.caption else []
    for part in scene.all_parts():
        lines += part_lines(part)
    return lines


def part_lines(part: Any) -> list[str]:
    """One part of a scene, line by line."""
    return WORDS[type(part)](part)


def grid_lines(grid: Grid) -> list[str]:
    """Rows of a grid, a cell as wide as its widest glyph, with its labels."""
    wide = max([1, *(len(symbol(p)) for row in grid.cells for p in row if p)])
    wide = max([wide, *(len(label) for label in grid.column_labels)])
    margin = max([0, *(len(label) for label in grid.row_labels)])
    lines = []
    if grid.column_labels:
        lines.append(" " * (margin + 1) + " ".join(c.rjust(wide) for c in grid.column_labels))
    for number, row in enumerate(grid.cells):
        label = grid.row_labels[number] if grid.row_labels else ""
        cells = [cell_text(grid, piece, number, c).rjust(wide) for c, piece in enumerate(row)]
        lines.append(f"{label.rjust(margin)} {' '.join(cells)}")
    return lines


def symbol(piece: Piece) -> str:
    """What stands for a piece: its word where it is one, else its glyph, and its badge.

    Pieces that share a cell are joined by "+", as in "0+2xE".
    """
    if piece.under:
        counts = Counter(filter(None, map(symbol, piece.stack())))
        return "+".join(f"{n}x{shown}" if n > 1 else shown for shown, n in counts.items())
    text = piece.label if piece.shape == "word" else piece.glyph
    return clean(text) + clean(piece.badge, 1 if has_sprite(piece.badge) else 4)


def cell_text(grid: Grid, piece: Piece | None, row: int, column: int) -> str:
    """The letters for one cell: its piece, or what its ground is."""
    if piece is not None:
        return symbol(piece)
    if (row, column) in grid.shaded:
        return "░"
    ground = grid.ground[row][column] if grid.ground and column < len(grid.ground[row]) else ""
    return GROUNDS.get(ground, "·")


def hex_lines(board: Hexes) -> list[str]:
    """Rows of hexagons, each row half a tile to the right of the one above; then what is on them.

    A tile is its piece and the first two letters of its ground.
    """
    texts = {
        (t.q, t.r): (symbol(t.piece) if t.piece else "") + str(t.ground)[:2] or "·"
        for t in board.tiles
    }
    wide = max(map(len, texts.values()), default=1)
    least = min((2 * t.q + t.r for t in board.tiles), default=0)
    lines = []
    for r in sorted({tile.r for tile in board.tiles}):
        line = ""
        for q in sorted(q for q, row in texts if row == r):
            start = (2 * q + r - least) * (wide + 1) // 2
            line = line.ljust(start) + texts[q, r].ljust(wide)
        lines.append(line.rstrip())
    return lines + edge_lines(board) + corner_lines(board)


def edge_lines(board: Hexes) -> list[str]:
    """The sides in each colour, such as the roads of a seat, by their names."""
    sides: dict[Colour, list[str]] = {}
    for edge in board.edges:
        if edge.colour != "" and edge.name:
            sides.setdefault(edge.colour, []).append(clean(edge.name))
    return [
        f"sides in the colour of {f'seat {colour}' if isinstance(colour, int) else colour}: "
        + ", ".join(names)
        for colour, names in sorted(sides.items(), key=str)
    ]


def corner_lines(board: Hexes) -> list[str]:
    """What stands at corners, a line for each colour; then corners of one kind, by their names."""
    standing: dict[Colour, list[str]] = {}
    alike: dict[str, list[str]] = {}
    for piece in (corner.piece for corner in board.corners if corner.piece.label):
        if piece.shape == "small":
            alike.setdefault(clean(piece.label), []).append(clean(piece.glyph))
        else:
            standing.setdefault(piece.colour, []).append(clean(piece.label))
    lines = ["; ".join(labels) for labels in standing.values()]
    return lines + [f"{label} at {', '.join(names)}" for label, names in alike.items()]


def graph_lines(graph: Graph) -> list[str]:
    """Every node with what it is and its links."""
    lines = []
    for number, node in enumerate(graph.nodes):
        to = [
            graph.nodes[link.end if link.start == number else link.start].name
            + (f" ({clean(link.label)})" if link.label else "")
            for link in graph.links
            if number == link.start or (number == link.end and not link.directed)
        ]
        told = f": {clean(node.label)}" if node.label else ""
        lines.append(f"{clean(node.name)}{told}{' – ' + ', '.join(map(clean, to)) if to else ''}")
    return lines


def plane_lines(plane: Plane) -> list[str]:
    """Everything with its place, in hundredths of the plane's side."""
    return [
        f"{clean(spot.name)}{': ' if spot.label else ''}{clean(spot.label)}"
        f" at ({100 * spot.x:.0f}, {100 * spot.y:.0f})"
        for spot in plane.spots
    ]


def card_text(card: Card) -> str:
    known = f" {clean(card.badge, 12)}" if card.badge else ""
    face = clean(card.rank) + SUITS.get(card.suit, "")
    return f"[{'?' if card.hidden else face or clean(card.label or card.sprite)}{known}]"


def cards_lines(held: Cards) -> list[str]:
    return [f"{clean(held.owner)}: {' '.join(map(card_text, held.cards))}"]


def dice_lines(dice: Dice) -> list[str]:
    return [f"{clean(dice.owner)}: {' '.join(str(v) if v else '?' for v in dice.values)}"]


def table_lines(table: RoundTable) -> list[str]:
    """What lies in the middle, then everybody in a line."""
    lines = []
    cards = " ".join(map(card_text, table.cards))
    pot = number_text(table.pot) if table.pot else ""
    if middle := [text for text in (cards, clean(table.words), pot) if text]:
        lines.append("  ".join(middle))
    for person in table.people:
        chips = f"{number_text(person.chips)} on the table" if person.chips else ""
        states = ["dealer" if person.dealer else "", "out" if person.out else ""]
        parts = [person.role, person.detail, chips, *states]
        told = ", ".join(clean(part) for part in parts if part)
        cards = " ".join(map(card_text, person.cards))
        vote = ""
        if person.vote is not None and 0 <= person.vote < len(table.people):
            vote = f" votes for {clean(table.people[person.vote].name)}"
        said = f' says: "{clean(person.said, 200)}"' if person.said else ""
        mark = ">" if person.acting else " "
        about = f" ({told})" if told else ""
        lines.append(
            f"{mark} {clean(person.name)}{about}{' ' + cards if cards else ''}{vote}{said}"
        )
    for link in table.links:
        start, end = (clean(table.people[n].name) for n in (link.start, link.end))
        lines.append(f"{start} → {end}{': ' if link.label else ''}{clean(link.label)}")
    return lines


def chart_lines(chart: Chart) -> list[str]:
    """Every series as a row of blocks with its last value."""
    lines = [clean(chart.title)] if chart.title else []
    values = [y for series in chart.series for _, y in series.points]
    low, high = (min(values), max(values)) if values else (0.0, 0.0)
    for series in chart.series:
        points = series.points[-SPARKS:]
        steps = [int((y - low) / max(1e-12, high - low) * (len(BLOCKS) - 1)) for _, y in points]
        last = f" {number_text(points[-1][1])}" if points else " nothing yet"
        name = clean(series.name or chart.y_label)
        lines.append(f"{name} {''.join(BLOCKS[step] for step in steps)}{last}")
    if chart.candles:
        day = chart.candles[-1]
        prices = {"open": day.opened, "high": day.high, "low": day.low, "close": day.closed}
        lines.append(", ".join(f"{name} {number_text(price)}" for name, price in prices.items()))
    return lines


def cells_lines(table: Table) -> list[str]:
    """Aligned columns under a header."""
    rows = [[clean(cell, 60) for cell in row] for row in (table.header, *table.rows)]
    wide = [max(len(row[c]) for row in rows if c < len(row)) for c in range(len(table.header))]
    lines = [clean(table.title)] if table.title else []
    return lines + [
        "  ".join(cell.ljust(wide[c]) for c, cell in enumerate(row[: len(wide)])).rstrip()
        for row in rows
    ]


def talk_lines(talk: Talk) -> list[str]:
    return [
        f"{clean(s.speaker)}: {clean(line)}" for s in talk.sayings for line in s.text.splitlines()
    ]


def bars_lines(part: Bars) -> list[str]:
    lines = []
    for bar in part.bars:
        full = max(bar.full, 1e-9)
        filled = round(20 * min(1.0, max(0.0, bar.value / full)))
        value = f"{number_text(bar.value)} of {number_text(bar.full)}"
        lines.append(f"{clean(bar.label):<14} {'█' * filled:<20} {value}")
    return lines


def text_lines(part: Lines) -> list[str]:
    return [clean(line) for text in part.lines for line in text.splitlines()]


def page_lines(page: Page) -> list[str]:
    lines, index = [clean(page.address)] if page.address else [], 0
    while index < len(page.widgets):
        if page.widgets[index].kind == "row":
            rows, index = read_rows(page.widgets, index)
            for row in rows:
                cells = [" ".join(widget_line(w).strip() for w in cell) for cell in row]
                lines.append("    " + " | ".join(cells))
        else:
            lines.append(widget_line(page.widgets[index]))
            index += 1
    return lines


def widget_line(widget: Widget) -> str:
    """A widget in words: its kind, and its number if it can be acted on."""
    text = clean(widget.text)
    if widget.kind == "field":
        text = f"{text}: [{clean(widget.value)}]"
    elif widget.kind == "tick":
        text = f"{'(x)' if widget.chosen else '( )'} {text}"
    elif widget.kind == "button":
        text = f"< {text} >"
    elif widget.kind == "heading":
        text = f"# {text}"
    number = f"{widget.number:>3} " if widget.number else "    "
    return f"{number}{'  ' * widget.depth}{text}"


WORDS: dict[type, Callable[[Any], list[str]]] = {
    Grid: grid_lines,
    Hexes: hex_lines,
    Graph: graph_lines,
    Plane: plane_lines,
    Cards: cards_lines,
    Dice: dice_lines,
    RoundTable: table_lines,
    Chart: chart_lines,
    Table: cells_lines,
    Talk: talk_lines,
    Bars: bars_lines,
    Lines: text_lines,
    Page: page_lines,
}


@renderer("ansi", families=("*",))
class AnsiRenderer:
    """Mode "ansi": the scene as a string, without escapes."""

    def draw(self, episode: Episode, viewer: int | None) -> str:
        status = status_lines(episode, viewer=viewer)
        lines = [*status, *scene_lines(scene_of(episode, viewer))]
        end = ending(episode)
        return "\n".join([*lines, end] if end else lines) + "\n"

    def close(self) -> None:
        """Do nothing: there is nothing to release."""
