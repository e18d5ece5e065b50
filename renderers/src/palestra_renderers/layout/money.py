"""Money on a table: stacks of chips with their amount, and the dealer's button."""

from __future__ import annotations

from math import ceil, log2

from palestra.endings import number_text

from palestra_renderers.layout.labels import Box
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import text_width
from palestra_renderers.marks import Circle, Rect, Words
from palestra_renderers.theme import ink_on, paint_of

TALLEST = 8  # chips of a stack


def stack_height(amount: float) -> int:
    """The chips that are drawn for an amount: one more each time that it doubles."""
    return min(TALLEST, 1 + ceil(log2(amount))) if amount > 1 else int(amount > 0)


def stack_form(amount: float, size: float) -> tuple[float, float]:
    """The width and height of a stack with its amount beside it."""
    return 2.3 * size + text_width(number_text(amount), size), 1.9 * size


def lay_stack(amount: float, box: Box, colour: int | str, sheet: Sheet) -> None:
    """Chips on each other, seen from the side, and how much they are worth."""
    left, top, _, bottom = box
    size = (bottom - top) / 1.9
    thick, wide = size * 0.24, size * 1.4
    for number in range(stack_height(amount)):
        y = bottom - (number + 1) * thick
        paint = "white" if number % 2 else paint_of(colour)
        sheet.marks.append(Rect(left, y, wide, thick + 1, paint, "black", 1, thick / 2))
    text = number_text(amount)
    across = text_width(text, size) + size * 0.6
    x, middle = left + wide + size * 0.2, bottom - size / 2
    sheet.marks.append(Rect(x, middle - size / 2, across, size, "panel", "", 1, size / 3))
    sheet.marks.append(Words(x + across / 2, middle, text, size, "ink", "middle"))


def lay_button(x: float, y: float, radius: float, sheet: Sheet) -> None:
    """The button of the dealer: a white disc with a D."""
    sheet.marks.append(Circle(x, y, radius, "white", "black"))
    sheet.marks.append(Words(x, y, "D", radius * 1.5, ink_on("white"), "middle"))
