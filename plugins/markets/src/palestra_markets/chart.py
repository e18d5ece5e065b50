"""Charts of what changes with time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palestra.scene import Chart, Series

MOST = 200  # points of a line; more would not be seen


def chart(lines: Mapping[str, Sequence[float]], x_label: str, y_label: str) -> Chart:
    """A chart of lines: points are numbered from 1, and a line's colour is its index.

    Lines longer than `MOST` are thinned and keep their first and last point. The labels name the
    quantities with their units.
    """
    series = tuple(
        Series(name, thin(values, MOST), "line", colour)
        for colour, (name, values) in enumerate(lines.items())
    )
    return Chart(series, "", x_label, y_label)


def thin(values: Sequence[float], most: int) -> tuple[tuple[float, float], ...]:
    """At most `most` of the values, evenly spaced, each with its number."""
    count = len(values)
    places = list(range(count))
    if count > most:
        places = [round(at * (count - 1) / (most - 1)) for at in range(most)]
    return tuple((float(place + 1), float(values[place])) for place in places)
