"""Marks as JSON for a page, which draws them as SVG.

Every mark is written once for a whole episode and named by its number afterwards, since most of a
picture is as it was the turn before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from palestra import Scene

from palestra_renderers.layout.scenes import lay_out
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.marks import Circle, Layer, Line, Mark, Place, Polygon, Rect, Sprite, Words
from palestra_renderers.sprites import outlines
from palestra_renderers.theme import DARK, LIGHT, hexcode

WIDTH, HEIGHT, LINE = 640, 600, 22  # units of the view box
KINDS: dict[type, str] = {
    Rect: "r",
    Circle: "c",
    Polygon: "p",
    Line: "l",
    Words: "w",
    Sprite: "s",
    Layer: "g",
}


class MarkTable:
    """All the marks of an episode's pictures, each once, and the sprites among them."""

    def __init__(self) -> None:
        self.marks: list[list[Any]] = []
        self.sprites: dict[str, str] = {}
        self._numbers: dict[Mark, int] = {}
        self._groups: dict[tuple[Mark, ...], int] = {}

    def picture(self, scene: Scene) -> dict[str, Any]:
        """A scene's height, and the numbers of its marks."""
        sheet = Sheet(WIDTH, LINE)
        end = lay_out(scene, sheet, 0, HEIGHT)
        found: dict[str, Any] = {"height": round(end + 4), "marks": self.numbers(sheet.marks)}
        if sheet.places:
            found["places"] = [place_data(place) for place in sheet.places]
        return found

    def _group(self, marks: tuple[Mark, ...]) -> int:
        """The number of marks that are always drawn together."""
        number = self._groups.get(marks)
        if number is None:
            inside = self.numbers(marks)
            number = self._groups[marks] = len(self.marks)
            self.marks.append(["n", inside])
        return number

    def numbers(self, marks: Iterable[Mark]) -> list[int]:
        return [self._number(mark) for mark in marks]

    def _number(self, mark: Mark) -> int:
        number = self._numbers.get(mark)
        if number is None:
            data = self._data(mark)
            number = self._numbers[mark] = len(self.marks)
            self.marks.append(data)
        return number

    def _data(self, mark: Mark) -> list[Any]:
        if isinstance(mark, Layer):
            return ["g", round_numbers(mark.x), round_numbers(mark.y), self._group(mark.marks)]
        if isinstance(mark, Sprite):
            self.sprites[mark.name] = outlines()[mark.name]
        return [KINDS[type(mark)], *map(round_numbers, mark)]


def round_numbers(value: Any) -> Any:
    """Numbers to a tenth of a unit, which nobody sees."""
    if isinstance(value, float):
        short = round(value, 1)
        return int(short) if short == int(short) else short
    return [round_numbers(part) for part in value] if isinstance(value, tuple) else value


def place_data(place: Place) -> list[Any]:
    return [*map(round_numbers, place.box), place.name]


def theme_css() -> str:
    """The theme's colours as variables of CSS: light, and dark where the page says so."""
    light = "".join(f"--c-{name}:{hexcode(colour)};" for name, colour in LIGHT.items())
    dark = "".join(
        f"--c-{name}:{hexcode(colour)};" for name, colour in DARK.items() if colour != LIGHT[name]
    )
    return f':root{{{light}}}\n:root[data-theme="dark"]{{{dark}}}\n'
