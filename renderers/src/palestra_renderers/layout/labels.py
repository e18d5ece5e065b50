"""Where labels go: on the side of a thing, or the part of a line, where they hide the least."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import text_width
from palestra_renderers.marks import Rect, Words
from palestra_renderers.plain import clean

Spot = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom
SHRUNK = (1.0, 0.8)  # sizes at which a label is tried
BEARABLE = 0.1  # of a label's area that may lie on something else
SMALLEST = 11.0  # height of a line that can still be read
LEAST = 8.0  # height of a number or of a few letters


def short_name(name: str) -> str:
    """The end of a name, such as its number, in three letters at most."""
    return (clean(name).replace("_", " ").split() or [""])[-1][:3]


def around(middle: Spot, form: tuple[float, float]) -> Box:
    (x, y), (wide, high) = middle, form
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def hidden_area(box: Box, taken: Sequence[Box]) -> float:
    """The area that a box shares with others."""
    left, top, right, bottom = box
    total = 0.0
    for a, b, c, d in taken:
        if a < right and left < c and b < bottom and top < d:
            total += (min(right, c) - max(left, a)) * (min(bottom, d) - max(top, b))
    return total


def freest(boxes: Sequence[Box], taken: Sequence[Box]) -> Box:
    """The first box that lies on nothing, or else the one that lies on the least."""
    least, best = float("inf"), boxes[0]
    for box in boxes:
        hidden = hidden_area(box, taken)
        if not hidden:
            return box
        if hidden < least:
            least, best = hidden, box
    return best


def lies_in(box: Box, frame: Box) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def sides(spot: Spot, form: tuple[float, float], radius: float) -> list[Box]:
    """Below, above, right, left of a disc, and then at its corners."""
    (x, y), (wide, high) = spot, form
    down, beside = radius + high * 0.6, radius + wide / 2 + 2
    slant, near = radius * 0.7 + high / 2, radius * 0.7 + wide / 2
    middles = [(x, y + down), (x, y - down), (x + beside, y), (x - beside, y)]
    middles += [(x + a * near, y + b * slant) for b in (1, -1) for a in (1, -1)]
    return [around(middle, form) for middle in middles]


def free_box(
    spot: Spot, form: tuple[float, float], radius: float, frame: Box, taken: Sequence[Box]
) -> Box:
    """The side of a disc, inside a frame if one is, where the least is taken."""
    boxes = sides(spot, form, radius)
    inside = [box for box in boxes if lies_in(box, frame)]
    return freest(inside or boxes, taken)


def label_disc(
    text: str, disc: tuple[float, float, float], frame: Box, taken: list[Box], sheet: Sheet
) -> None:
    """A label beside a disc (x, y, radius), smaller if it must be; left out if nothing is free.

    Where the whole label is not free but its end is, such as its number, that is shown.
    """
    x, y, radius = disc
    for shown, size in product((text, short_name(text)), sizes(sheet)):
        box = free_box((x, y), (text_width(shown, size) + 4, size), radius, frame, taken)
        if lies_in(box, frame) and fits(box, taken):
            write_boxed(shown, box, size, sheet)
            taken.append(box)
            return


def label_line(
    text: str, ends: tuple[Spot, Spot], frame: Box, taken: list[Box], sheet: Sheet
) -> None:
    """A label on a line, where the least is taken; left out if nothing is free."""
    (a, b), (c, d) = ends
    for size in sizes(sheet):
        form = (text_width(text, size) + 4, size)
        shares = (0.5, 0.35, 0.65, 0.25, 0.75)
        boxes = [around((a + (c - a) * s, b + (d - b) * s), form) for s in shares]
        box = freest(boxes, taken)
        if lies_in(box, frame) and fits(box, taken):
            write_boxed(text, box, size, sheet)
            taken.append(box)
            return


def sizes(sheet: Sheet) -> list[float]:
    return [max(SMALLEST, sheet.line * 0.75 * share) for share in SHRUNK]


def fits(box: Box, taken: Sequence[Box]) -> bool:
    return hidden_area(box, taken) <= BEARABLE * (box[2] - box[0]) * (box[3] - box[1])


def write_boxed(text: str, box: Box, size: float, sheet: Sheet) -> None:
    left, top, right, bottom = box
    sheet.marks.append(Rect(left, top, right - left, bottom - top, "paper"))
    middle = ((left + right) / 2, (top + bottom) / 2)
    sheet.marks.append(Words(*middle, text, size, "ink", "middle"))
