"""What the scripts of this folder share: seeds on the command line, and tables with intervals."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from palestra.records.intervals import Sample


def runs(text: str, *, seeds: int = 3) -> range:
    """The seeds that the command line asks for: `--seeds N` is 0 to N - 1."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--seeds", type=int, default=seeds, help=f"how many runs ({seeds})")
    return range(parser.parse_args().seeds)


def spread(values: Iterable[float], digits: int = 1) -> str:
    """The mean of independent runs, and half the width of its 95 % interval (Student)."""
    sample = Sample()
    for value in values:
        sample.add(value)
    if sample.count == 1:
        return f"{sample.mean:.{digits}f}"
    mean, low, high = sample.interval()
    half = 0.0 if low != low else (high - low) / 2  # runs that are all alike
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def show(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, its first column on the left and the others on the right."""
    table = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [text.rjust(width) for text, width in zip(others, widths[1:], strict=True)]
        print("  ".join([first.ljust(widths[0]), *cells]).rstrip())
