"""The seats of an episode in their colours, as a panel below the scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palestra.scene import Colour

from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.lettering import EM, cut, ems, text_width
from palestra_renderers.marks import Circle, Line, Mark, Words
from palestra_renderers.plain import clean
from palestra_renderers.theme import paint_of

FULL = 40  # seats; of more, the panel counts those it does not show
FEWEST = 3  # letters of a name that is shortened
SMALLEST = 11.0  # height of a line that can still be read


def lay_seats(
    status: Sequence[str],
    note: str,
    height: float,
    sheet: Sheet,
    colour_of: Callable[[int], Colour] = int,
) -> int:
    """Seats with their returns, and a line of news under them; returns where the panel starts.

    Letters are smaller if a column is too narrow; a name that does not fit is shortened in its
    middle, so that the return after it stays whole.
    """
    width, line = sheet.width, int(sheet.line)
    shown = list(status)
    if len(status) > FULL:
        shown = [*status[: FULL - 1], f"  and {len(status) - FULL + 1} more"]
    columns = 1 + (len(shown) > 4) + (len(shown) > 10) + (len(shown) > 24)
    rows = (len(shown) + columns - 1) // columns
    top = height - line * (rows + 1) - line // 2
    marks: list[Mark] = [Line(((0, top), (width, top)), "faint")]
    room = width // columns - 1.5 * line
    longest = max(map(ems, shown), default=1.0)
    size = max(min(SMALLEST, line), min(line, room / (EM * longest)))
    for seat, text in enumerate(shown):
        x = seat // rows * (width // columns)
        y = top + line // 4 + seat % rows * line + line / 2
        if seat < FULL - 1 or len(status) == len(shown):
            marks.append(
                Circle(x + line * 0.75, y - 1, line / 4, paint_of(colour_of(seat)), "black")
            )
        fits = shorten(text, room, size)
        marks.append(Words(x + line * 1.25, y, fits, size, ground="paper"))
    said = cut(clean(note), width - line, line)
    marks.append(Words(line // 2, height - line / 2 - 2, said, line, "quiet", ground="paper"))
    sheet.marks += marks
    return int(top)


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
