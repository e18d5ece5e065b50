"""Tables of results: the same rows for the terminal, a page and JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palestra import Interval

Cell = str | int | float | Interval | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under named columns; the first column names the row. `note` says how to read it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def value(self, row: str, column: str) -> Cell:
        """The cell of the row whose first cell is `row`."""
        at = self.columns.index(column)
        return next(cells[at] for cells in self.rows if cells[0] == row)

    def as_data(self) -> dict[str, Any]:
        """Plain JSON: intervals are [value, low, high], numbers that are none are null."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [[_plain(cell) for cell in row] for row in self.rows],
            "note": self.note,
        }


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Interval):
        return [_plain(part) for part in cell]
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return cell


def cell_text(cell: Cell, digits: int = 3) -> str:
    """A cell as text; what is not known is a dash."""
    if isinstance(cell, Interval):
        bounds = ", ".join(cell_text(part, digits) for part in (cell.low, cell.high))
        return f"{cell_text(cell.value, digits)} [{bounds}]"
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, float):
        return (
            f"{round(cell, digits) + 0.0:.{digits}f}"
            if abs(cell) < 10
            else f"{cell:.{digits + 1}g}"
        )
    return str(cell)


def written_rows(table: Table) -> Sequence[Sequence[str]]:
    """All rows as text."""
    return [[cell_text(cell) for cell in row] for row in table.rows]
