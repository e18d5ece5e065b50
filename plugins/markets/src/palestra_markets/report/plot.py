"""Plots as data: a market declares them, and `page` draws them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["line", "step", "points", "bars", "dashed"]


@dataclass(frozen=True, slots=True)
class Series:
    """Points under one name; bars are centred at x."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: Style = "line"


@dataclass(frozen=True, slots=True)
class Plot:
    """Lines on common axes; `x` and `y` label the axes."""

    title: str
    lines: Sequence[Series]
    x: str = ""
    y: str = ""


def over_time(name: str, values: Sequence[float], style: Style = "line", start: int = 0) -> Series:
    """A line of values at the whole numbers from `start`."""
    return Series(name, range(start, start + len(values)), values, style)


def level(name: str, value: float, start: float, end: float) -> Series:
    """A dashed line at one height, such as a theoretical value."""
    return Series(name, (start, end), (value, value), "dashed")
