"""A page's widgets, laid out as in a browser: text in lines, links and buttons in rows."""

from __future__ import annotations

from collections.abc import Sequence

from palestra.scene import Page, Widget

from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import cut, text_width, wrap
from palestra_renderers.marks import Circle, Line, Rect, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import ink_on, paint_of

NOTE = 0.7  # lines at the foot of a page, for how much of it is not shown


def lay_page(page: Page, top: float, room: float, sheet: Sheet) -> float:
    """A window with as many widgets as fit; returns the height used."""
    line = sheet.line
    frame = Rect(line / 4, top, sheet.width - line / 2, room, "panel", "quiet", 1, line / 4)
    sheet.marks.append(frame)
    left, y, right = line * 0.6, top + line / 3, sheet.width - line * 0.6
    if page.address:
        y = lay_address(page.address, top, sheet) + line / 3
    x, height, depth, index = left, 0.0, 0, 0
    while index < len(page.widgets):
        widget = page.widgets[index]
        if widget.kind == "row":
            rows, after = read_rows(page.widgets, index)
            start = y + height
            fits = int((top + room - start) / (line * 1.15))
            if fits < len(rows) or after < len(page.widgets):  # a note may follow
                fits = int((top + room - start - line * NOTE) / (line * 1.15))
            if fits < 1:
                break
            lay_rows(rows[:fits], (left, start, right - left), sheet)
            x, y, height = left, start + len(rows[:fits]) * line * 1.15 + line / 4, 0.0
            index = after if fits >= len(rows) else row_places(page.widgets, index, after)[fits]
            if fits < len(rows):
                break
            continue
        start = left + widget.depth * line / 2
        alone = widget.kind in ("heading", "text")
        wide, tall, lines = measure(widget, line, right - start)
        if height and (alone or x + wide > right or widget.depth != depth):
            x, y, height = start, y + height, 0.0
        depth, x = widget.depth, max(x, start)
        if y + tall > top + room - line * NOTE:
            break
        draw(widget, (x, y, wide, tall), lines, sheet)
        x += wide + line / 2
        height = max(height, tall + line / 6)
        if alone:
            x, y, height = left, y + height, 0.0
        index += 1
    if index < len(page.widgets):
        rest = f"… and {len(page.widgets) - index} more"
        sheet.note(rest, left, top + room - line * 0.4, line * 0.75)
    return room


def lay_address(address: str, top: float, sheet: Sheet) -> float:
    """The bar of a browser with its address; returns where it ends."""
    line = sheet.line
    tall, left = line * 1.4, line / 4
    box = Rect(left, top, sheet.width - 2 * left, tall, "other", "quiet", 1, line / 4)
    sheet.marks.append(box)
    for number, paint in enumerate(("red", "yellow", "green")):
        at = left + line * (0.6 + 0.6 * number)
        sheet.marks.append(Circle(at, top + tall / 2, line * 0.2, paint))
    start = left + line * 2.4
    wide = sheet.width - start - line * 0.6
    bar = Rect(start, top + tall * 0.15, wide, tall * 0.7, "panel", "faint", 1, tall * 0.35)
    sheet.marks.append(bar)
    sheet.write(
        address, start + line / 2, top + tall / 2, room=wide - line, height=line * 0.8,
        colour="quiet",
    )  # fmt: skip
    return top + tall


Rows = list[list[list[Widget]]]  # rows of cells, each with what lies in it


def read_rows(widgets: Sequence[Widget], index: int) -> tuple[Rows, int]:
    """The rows of a table that begins at a widget, and the number of the widget after it."""
    rows: Rows = []
    base = widgets[index].depth
    while index < len(widgets) and widgets[index].depth >= base:
        widget = widgets[index]
        if widget.depth == base and widget.kind != "row":
            break
        if widget.kind == "row":
            rows.append([])
        elif widget.kind == "cell":
            rows[-1].append([widget] if widget.text else [])
        else:
            rows[-1] += [] if rows[-1] else [[]]
            rows[-1][-1].append(widget)
        index += 1
    return rows, index


def row_places(widgets: Sequence[Widget], start: int, end: int) -> list[int]:
    """Where the rows of a table begin."""
    base = widgets[start].depth
    return [n for n in range(start, end) if widgets[n].kind == "row" and widgets[n].depth == base]


def lay_rows(rows: Rows, box: tuple[float, float, float], sheet: Sheet) -> None:
    """The rows of a table in columns as wide as what is in them."""
    left, top, room = box
    line = sheet.line
    columns = max(map(len, rows), default=0)
    sizes = [
        min(15 * line, max(1.5 * line, cell_width([row[c] for row in rows if c < len(row)], line)))
        for c in range(columns)
    ]
    scale = min(1.0, room / max(1.0, sum(sizes)))
    for number, row in enumerate(rows):
        x, y = left, top + number * line * 1.15
        for size, cell in zip(sizes, row, strict=False):
            at = x
            for widget in cell:
                if widget.kind == "cell":
                    colour = "quiet" if widget.chosen else "ink"
                    sheet.write(
                        widget.text, at, y + line / 2, room=size * scale, height=line * 0.9,
                        colour=colour,
                    )  # fmt: skip
                else:
                    wide, tall, lines = measure(widget, line, max(line, x + size * scale - at))
                    draw(widget, (at, y, wide, tall), lines, sheet)
                    at += wide + line / 4
            x += size * scale
        rule = y + line * 1.12
        sheet.marks.append(Line(((left, rule), (left + sum(sizes) * scale, rule)), "faint"))


def cell_width(cells: Sequence[Sequence[Widget]], line: float) -> float:
    """How wide the widest cell of a column is, with a space after it."""
    widths = [
        sum(
            text_width(w.text, line * 0.9) + line * (bool(w.number) + 0.85 * (w.kind != "cell"))
            for w in cell
        )
        for cell in cells
    ]
    return max(widths) + line * 0.7


def measure(widget: Widget, line: float, room: float) -> tuple[float, float, list[str]]:
    """Width, height, and the text in lines."""
    size = line * (1.2 if widget.kind == "heading" else 0.9)
    number = line if widget.number else 0
    if widget.kind in ("heading", "text"):
        lines = wrap(clean(widget.text, 2_000), room - number, size)
        return room, size * len(lines), lines
    text = cut(clean(widget.text), room - number - line, size)
    wide = number + text_width(text, size) + line * 0.6
    if widget.kind == "tick":
        wide += line
    if widget.kind == "field":
        wide += max(5 * line, min(12 * line, room - wide))
    return min(wide, room), line * 1.15, [text]


def draw(
    widget: Widget, box: tuple[float, float, float, float], lines: list[str], sheet: Sheet
) -> None:
    x, y, wide, tall = box
    line = sheet.line
    size = line * (1.2 if widget.kind == "heading" else 0.9)
    middle = y + (size if widget.kind in ("heading", "text") else tall) / 2
    if widget.number:
        sheet.marks.append(Words(x, middle, str(widget.number), line * 0.7, "quiet"))
        x, wide = x + line, wide - line
    if widget.kind == "button":
        fill, ink = ("seat6" if widget.chosen else "link"), "panel"
        if widget.colour:
            fill = paint_of(widget.colour)
            ink = ink_on(fill)
        sheet.marks.append(Rect(x, y, wide, tall, fill, "", 1, line / 3))
        sheet.marks.append(Words(x + line * 0.3, middle, lines[0], size, ink))
        return
    if widget.kind == "field":
        label = text_width(lines[0], size) + line / 2
        sheet.marks.append(Words(x, middle, lines[0], size))
        sheet.marks.append(Rect(x + label, y, wide - label, tall, "panel", "quiet", 1, 3))
        value = cut(clean(widget.value), wide - label - line / 2, size)
        sheet.marks.append(Words(x + label + line / 4, middle, value, size))
        return
    if widget.kind == "tick":
        sheet.marks.append(Circle(x + line / 3, middle, line / 3, "panel", "quiet"))
        if widget.chosen:
            sheet.marks.append(Circle(x + line / 3, middle, line / 5, "link"))
        x += line
    colour = "link" if widget.kind == "link" else "ink"
    for number, text in enumerate(lines):
        sheet.marks.append(Words(x, middle + number * size, text, size, colour))
    if widget.kind == "link":
        under = middle + size * 0.42
        end = x + text_width(lines[0], size)
        sheet.marks.append(Line(((x, under), (end, under)), "link"))
