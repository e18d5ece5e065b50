"""Line charts as a grid of cells, which every renderer can draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from palestra import Grid, Piece

ROWS, COLUMNS = 12, 40


def chart(
    lines: Mapping[str, Sequence[float]], *, rows: int = ROWS, columns: int = COLUMNS
) -> Grid | None:
    """A grid that shows each line as one square per column; None if there are no points.

    Each line is labelled with its name and coloured by its index in `lines`. Lines longer than
    `columns` are thinned and keep their last point. Where lines cross, the first one is drawn on
    top. Row labels are the values at the top, in the middle and at the bottom.
    """
    shown = {name: thin(values, columns) for name, values in lines.items() if len(values)}
    if not shown:
        return None
    low = min(min(values) for values in shown.values())
    high = max(max(values) for values in shown.values())
    width = max(len(values) for values in shown.values())
    cells: list[list[Piece | None]] = [[None] * max(width, 2) for _ in range(rows)]
    colours = {name: colour for colour, name in enumerate(lines)}
    for name in reversed(shown):
        for column, value in enumerate(shown[name]):
            up = (value - low) / (high - low) if high > low else 0.5
            row = rows - 1 - round(up * (rows - 1))
            cells[row][column] = Piece(name[:1], colours[name], "square", name)
    labels = [""] * rows
    labels[rows // 2] = short_number((low + high) / 2)
    labels[0], labels[-1] = short_number(high), short_number(low)
    return Grid(tuple(tuple(row) for row in cells), row_labels=tuple(labels))


def thin(values: Sequence[float], most: int) -> list[float]:
    """At most `most` of the values, evenly spaced, with the first and the last."""
    count = len(values)
    if count <= most:
        return [float(value) for value in values]
    return [float(values[round(at * (count - 1) / (most - 1))]) for at in range(most)]


def short_number(value: float) -> str:
    """A number in three characters and its sign, for narrow labels: 98, 7.6, 1k, .1M."""
    for size, letter in ((1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G")):
        for digits in (1, 0):
            text = f"{abs(value) / size:.{digits}f}".removesuffix(".0")
            text = (text.removeprefix("0") if letter else text) + letter
            if len(text) <= 3:
                return f"-{text}" if value < 0 else text
    return f"{value:.0e}"
