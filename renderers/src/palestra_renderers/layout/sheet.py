"""A sheet of marks under construction, and how text fits on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from palestra_renderers.lettering import Face, cut, text_width, wrap
from palestra_renderers.marks import Anchor, Circle, Line, Mark, Place, Words
from palestra_renderers.plain import clean

PALE = ("seat1", "seat4", "seat5", "yellow", "gold", "white")


@dataclass(slots=True)
class Sheet:
    """Marks in the order they are drawn, and the places that can be clicked.

    `width` is the sheet's own, `line` the height of a line of text.
    """

    width: float
    line: float
    marks: list[Mark] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    def write(
        self,
        text: str,
        x: float,
        y: float,
        *,
        room: float,
        height: float = 0,
        colour: str = "ink",
        anchor: Anchor = "start",
        ground: str = "",
        face: Face = "",
    ) -> None:
        """A line of text whose middle is at `y`, clipped to `room`; usually on nothing."""
        height = height or self.line
        shown = cut(clean(text), room, height, face)
        self.marks.append(Words(x, y, shown, height, colour, anchor, ground, face))

    def note(
        self, text: str, x: float, y: float, height: float, *, anchor: Anchor = "start"
    ) -> None:
        """A quiet line of text, such as the name of an axis."""
        self.write(text, x, y, room=self.width, height=height, colour="quiet", anchor=anchor)

    def arrow(
        self, start: tuple[float, float], end: tuple[float, float], colour: str, thick: float = 2
    ) -> None:
        """A line with a head at its end."""
        (x, y), (u, v) = start, end
        reach = max(1e-9, ((u - x) ** 2 + (v - y) ** 2) ** 0.5)
        long = 7 + thick
        a, b = (u - x) / reach * long, (v - y) / reach * long
        if colour in PALE:  # pale arrows need a rim
            self.marks.append(Line((start, end), "quiet", thick + 2))
        self.marks.append(Line((start, end), colour, thick))
        head = ((u - a - b / 2, v - b + a / 2), end, (u - a + b / 2, v - b - a / 2))
        self.marks.append(Line(head, colour, max(2, thick)))

    def dot(self, x: float, y: float, radius: float, paint: str) -> None:
        """A disc with an outline."""
        self.marks.append(Circle(x, y, radius, paint, "black", max(1, radius / 16)))


def opening(lines: Sequence[str], room: int) -> list[str]:
    """The first lines that fit, with an ellipsis if there are more."""
    room = max(1, room)
    return list(lines) if len(lines) <= room else [*lines[: room - 1], f"{lines[room - 1]} …"]


def fold(lines: Sequence[str], room: int) -> list[str]:
    """The first and the last lines that fit, with how many are left out between them."""
    if len(lines) <= room or room < 3:
        return opening(lines, room)
    first = room // 2
    last = room - first - 1
    return [*lines[:first], f"… {len(lines) - first - last} lines left out …", *lines[-last:]]


def fit_text(text: str, wide: float, tall: float, largest: float) -> tuple[list[str], float]:
    """Text wrapped at words into a box, and the height of its lines: the largest that fits."""
    height = largest
    while True:
        lines = wrap(text, wide, height)
        longest = max((text_width(word, height) for word in text.split()), default=0.0)
        if (len(lines) * height <= tall and longest <= wide) or height <= 9:
            return opening(lines, int(tall // height)), height
        height -= 1
