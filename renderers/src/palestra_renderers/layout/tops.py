"""What people stand round, seen from above: a table of felt, or a basin that is partly full."""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin

from palestra.scene import RoundTable

from palestra_renderers.layout.labels import Box
from palestra_renderers.layout.sheet import Sheet
from palestra_renderers.marks import Layer, Line, Mark, Polygon
from palestra_renderers.theme import paint_of


def lay_top(
    table: RoundTable, middle: tuple[float, float], reach: tuple[float, float], sheet: Sheet
) -> None:
    """The felt or the basin around the middle of a table."""
    if table.ground == "felt":
        felt(middle, reach, sheet)
    else:
        fill_basin(table, middle, reach, sheet)


def fill_basin(
    table: RoundTable, middle: tuple[float, float], reach: tuple[float, float], sheet: Sheet
) -> None:
    """A basin seen from above, full of its ground as far as its level says."""
    turns = [a * pi / 48 for a in range(96)]
    rim = tuple((middle[0] + reach[0] * cos(a), middle[1] + reach[1] * sin(a)) for a in turns)
    sheet.marks.append(Polygon(rim, "sand", "rail", 2))
    share = min(1.0, max(0.0, table.level)) ** 0.5  # areas, not lengths, are compared
    if share > 0:
        inner = tuple(
            (middle[0] + (x - middle[0]) * share * 0.98, middle[1] + (y - middle[1]) * share * 0.98)
            for x, y in rim
        )
        sheet.marks.append(Polygon(inner, paint_of(table.ground)))
    if table.ground == "water":
        for a, b in ((-0.5, -0.3), (0.25, -0.5), (-0.2, 0.45), (0.45, 0.3)):
            x, y = middle[0] + a * reach[0] * share, middle[1] + b * reach[1] * share
            w = sheet.line * share
            wave = ((x - w, y), (x - w / 3, y - 3), (x + w / 3, y), (x + w, y - 3))
            sheet.marks.append(Line(wave, "ripple", 2))


def felt(middle: tuple[float, float], reach: tuple[float, float], sheet: Sheet) -> None:
    """The table's top, an ellipse with a rail."""
    wide, tall = round(reach[0]), round(reach[1])
    x, y = round(middle[0]) - wide - RAIL, round(middle[1]) - tall - RAIL
    sheet.marks.append(Layer(x, y, 2 * (wide + RAIL), 2 * (tall + RAIL), table_top(wide, tall)))


RAIL = 7


@lru_cache(maxsize=64)
def table_top(wide: int, tall: int) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    for grow, paint in ((RAIL - 1, "rail"), (0, "felt")):
        turns = [a * pi / 48 for a in range(96)]
        x, y = wide + RAIL, tall + RAIL
        points = tuple((x + (wide + grow) * cos(a), y + (tall + grow) * sin(a)) for a in turns)
        marks.append(Polygon(points, paint))
    return tuple(marks)


STRIPS = 8


def strips(middle: tuple[float, float], reach: tuple[float, float]) -> tuple[Box, ...]:
    """The boxes, one below the other, that cover an ellipse."""
    high = 2 * reach[1] / STRIPS
    found = []
    for number in range(STRIPS):
        share = abs(number + 0.5 - STRIPS / 2) / (STRIPS / 2)
        half = reach[0] * (1 - share * share) ** 0.5 + RAIL
        top = middle[1] - reach[1] + number * high
        found.append((middle[0] - half, top, middle[0] + half, top + high))
    return tuple(found)
