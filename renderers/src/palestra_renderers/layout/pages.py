"""A page's widgets, laid out as in a browser: text in lines, links and buttons in rows."""

from __future__ import annotations

from palestra.scene import Page, Widget

from palestra_renderers.layout.sheet import LETTER, Sheet, letters, wrap
from palestra_renderers.marks import Circle, Line, Rect, Words
from palestra_renderers.plain import clean


def lay_page(page: Page, top: float, room: float, sheet: Sheet) -> float:
    """As many widgets as fit; returns the height used."""
    line = sheet.line
    left, y, right = line / 2, top, sheet.width - line / 2
    if page.address:
        sheet.marks.append(Rect(left, y, right - left, line, "panel", "faint", 1, line / 2))
        sheet.note(page.address, left + line / 2, y + line / 2, line * 0.8)
        y += line * 1.3
    x, height, depth = left, 0.0, 0
    for index, widget in enumerate(page.widgets):
        start = left + widget.depth * line / 2
        alone = widget.kind in ("heading", "text")
        wide, tall, lines = measure(widget, line, right - start)
        if height and (alone or x + wide > right or widget.depth != depth):
            x, y, height = start, y + height, 0.0
        depth, x = widget.depth, max(x, start)
        if y + tall > top + room:
            rest = f"… and {len(page.widgets) - index} more"
            sheet.note(rest, left, top + room - line * 0.4, line * 0.75)
            return room
        draw(widget, (x, y, wide, tall), lines, sheet)
        x += wide + line / 2
        height = max(height, tall + line / 6)
        if alone:
            x, y, height = left, y + height, 0.0
    return y + height - top


def measure(widget: Widget, line: float, room: float) -> tuple[float, float, list[str]]:
    """Width, height, and the text in lines."""
    size = line * (1.2 if widget.kind == "heading" else 0.9)
    number = line if widget.number else 0
    if widget.kind in ("heading", "text"):
        lines = wrap(clean(widget.text, 2_000), letters(room - number, size))
        return room, size * len(lines), lines
    text = clean(widget.text, letters(room - number - line, size))
    wide = number + len(text) * LETTER * size + line * 0.6
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
        fill = "link" if not widget.chosen else "seat6"
        sheet.marks.append(Rect(x, y, wide, tall, fill, "", 1, line / 3))
        sheet.marks.append(Words(x + line * 0.3, middle, lines[0], size, "panel"))
        return
    if widget.kind == "field":
        label = len(lines[0]) * LETTER * size + line / 2
        sheet.marks.append(Words(x, middle, lines[0], size))
        sheet.marks.append(Rect(x + label, y, wide - label, tall, "panel", "quiet", 1, 3))
        value = clean(widget.value, letters(wide - label - line / 2, size))
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
        sheet.marks.append(Line(((x, under), (x + len(lines[0]) * LETTER * size, under)), "link"))
