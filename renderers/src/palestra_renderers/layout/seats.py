"""The seats of an episode in their colours, as a panel below the scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palestra.scene import Colour

from palestra_renderers.layout.labels import SMALLEST
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import EM, cut, ems, text_width
from palestra_renderers.marks import Circle, Line, Mark, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import paint_of

FULL = 40  # seats; of more, the panel counts those it does not show
MOST = 0.2  # of the picture's height that seats take
LEAST = 7.0  # ems kept for a text, so that columns stay when returns grow
COLUMNS = 4  # of names that are shortened
FEWEST = 3  # letters of a name that is shortened


def lay_seats(
    status: Sequence[str],
    note: str,
    height: float,
    sheet: Sheet,
    colour_of: Callable[[int], Colour] = int,
) -> int:
    """Seats with their returns, and a line of news under them; returns where the panel starts.

    Many seats stand in columns of smaller letters; a name that does not fit is shortened in its
    middle, so that the return after it stays whole.
    """
    width, line = sheet.width, int(sheet.line)
    shown = list(status)
    if len(status) > FULL:
        shown = [*status[: FULL - 1], f"  and {len(status) - FULL + 1} more"]
    columns, size = columns_for(shown, width, max(4 * line, MOST * height), line)
    rows = (len(shown) + columns - 1) // columns
    top = height - size * rows - line * 1.5
    marks: list[Mark] = [Line(((0, top), (width, top)), "faint")]
    room = width // columns - 1.75 * size
    for seat, text in enumerate(shown):
        x = seat // rows * (width // columns)
        y = top + line // 4 + seat % rows * size + size / 2
        if seat < FULL - 1 or len(status) == len(shown):
            paint = paint_of(colour_of(seat))
            marks.append(Circle(x + size * 0.75, y - 1, size / 4, paint, "black"))
        fits = shorten(text, room, size)
        marks.append(Words(x + size * 1.25, y, fits, size, ground="paper"))
    said = cut(clean(note), width - line, line)
    marks.append(Words(line // 2, height - line / 2 - 2, said, line, "quiet", ground="paper"))
    sheet.marks += marks
    return int(top)


def columns_for(
    texts: Sequence[str], width: float, room: float, largest: float
) -> tuple[int, float]:
    """Columns and line height at which texts fit a height: the largest letters that do."""
    longest = max([LEAST, *map(ems, texts)])
    size = largest
    while True:
        most = max(1, int(width / (EM * size * longest + 1.8 * size)))
        for columns in range(1, most + 1):
            if -(-len(texts) // columns) * size <= room:
                return columns, size
        if size <= SMALLEST:
            return max(most, min(COLUMNS, len(texts))), size
        size = max(SMALLEST, size - 1)


def shorten(text: str, room: float, height: float) -> str:
    """A seat's name and return in a width; the name loses letters of its middle."""
    text = clean(text)
    name, colon, paid = text.rpartition(": ")
    shown, kept = text, len(name)
    while text_width(shown, height) > room:
        kept -= 1
        if not colon or kept < FEWEST:
            return cut(text, room, height)
        back = kept // 2
        shown = f"{name[: kept - back]}…{name[len(name) - back :]}{colon}{paid}"
    return shown
