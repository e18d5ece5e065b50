"""Parts of pictures that several tasks draw: what was tried so far, and a file that is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

from palestra.scene import Card, Cards, Chart, Page, Series, Widget

APART = (0.016, 0.12)  # of the width and the height of a chart
Points = tuple[tuple[float, float], ...]


def best_so_far(tried: Sequence[tuple[float, bool]], *, most: bool) -> Points:
    """The corners of the line of the best value among those that count, try by try.

    tried: the value of each try and whether it counts. most: whether more is better.
    """
    corners: list[tuple[float, float]] = []
    for number, (value, counts) in enumerate(tried, 1):
        if not counts or not isfinite(value):
            continue
        before = corners[-1][1] if corners else value
        best = max(before, value) if most else min(before, value)
        corners += [(float(number), before), (float(number), best)] if corners else []
        corners += [] if corners else [(float(number), best)]
    if corners and corners[-1][0] < len(tried):
        corners.append((float(len(tried)), corners[-1][1]))
    return tuple(dict.fromkeys(corners))


def tries_chart(
    tried: Sequence[tuple[float, bool]],
    budget: int,
    title: str,
    level: tuple[str, float] | None = None,
    *,
    most: bool = True,
    what: str = "try",
) -> Chart:
    """A point for each try, the best so far, and a level to compare with, over the whole budget.

    tried: the value of each try and whether it counts; those that do not are red. budget: how many
    tries there may be. level: its name and value. most: whether more is better. what: a try.
    """
    points = [(float(n), value, counts) for n, (value, counts) in enumerate(tried, 1)]
    shown = [point for point in points if isfinite(point[1])]
    end = float(max(budget, len(tried), 2))
    series = []
    if level is not None and isfinite(level[1]):
        series.append(Series(level[0], ((1.0, level[1]), (end, level[1])), "line", "green"))
    best = best_so_far(tried, most=most)
    if len(best) > 1:
        series.append(Series("best so far", best, "line", "gold"))
    for name, colour, wanted in (("counts", 0, True), ("does not count", "red", False)):
        some = tuple((x, y) for x, y, counts in shown if counts is wanted)
        if some:
            series.append(Series(name, some, "points", colour))
    return Chart(tuple(series), title, what)


def thinned(series: Sequence[Series]) -> tuple[Series, ...]:
    """Series of a chart without the points of clouds that would lie on points before them.

    Two points need `APART` of the chart's width or height between them, so that small charts of
    many points stay clear.
    """
    every = [point for one in series for point in one.points]
    if not every:
        return tuple(series)
    wide, high = (max(axis) - min(axis) or 1.0 for axis in zip(*every, strict=True))
    kept, found = list[tuple[float, float]](), list[Series]()
    for one in series:
        mine: list[tuple[float, float]] = []
        for x, y in one.points:
            if one.kind == "points" and any(
                ((x - u) / wide / APART[0]) ** 2 + ((y - v) / high / APART[1]) ** 2 < 1
                for u, v in kept
            ):
                continue
            mine.append((x, y))
            kept += [(x, y)] if one.kind == "points" else []
        found.append(replace(one, points=tuple(mine)))
    return tuple(one for one in found if one.points)


def file_page(name: str, text: str) -> Page:
    """A file as a page with its name above, a line of text for each of its lines."""
    lines = text.splitlines() or ["(empty)"]
    return Page(tuple(Widget("text", line or " ") for line in lines), name)


def file_cards(files: Sequence[str], opened: Sequence[str]) -> Cards:
    """Files as cards with their names: those that were opened lie face up."""
    return Cards(
        "files",
        tuple(
            Card(name.split(".")[0], colour="blue", label=name)
            if name in opened
            else Card(hidden=True, label=name, badge=name.split(".")[0])
            for name in files
        ),
    )
