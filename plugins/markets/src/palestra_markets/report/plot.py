"""What a plot shows, as data: a market says what, `page` draws it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["line", "step", "points", "bars", "dashed"]


@dataclass(frozen=True, slots=True)
class Line:
    """Points under one name; `bars` stand at x."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: Style = "line"


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines on common axes, with what the axes mean and their units."""

    title: str
    lines: Sequence[Line]
    x: str = ""
    y: str = ""


def over_time(name: str, values: Sequence[float], style: Style = "line", start: int = 0) -> Line:
    """A line whose x are the whole numbers from `start`."""
    return Line(name, range(start, start + len(values)), values, style)


def level(name: str, value: float, start: float, end: float) -> Line:
    """A dashed line at one height: what theory says, beside what was played."""
    return Line(name, (start, end), (value, value), "dashed")
