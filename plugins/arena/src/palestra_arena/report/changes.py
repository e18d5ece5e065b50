"""Agents compared with one of them as a table."""

from __future__ import annotations

from collections.abc import Sequence

from palestra.quoting import one_line
from rich.table import Table
from rich.text import Text

from palestra_arena.cube.against import Change
from palestra_arena.report.costs import price
from palestra_arena.report.table import spread


def changes_table(changes: Sequence[Change], base: str) -> Table:
    """An agent a row, in the order in which they are named."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(Text(f"against {one_line(base)}"), no_wrap=True)
    for name in ("score", "p", "Holm", "cost", "cost-of-pass", "pairs"):
        table.add_column(name, justify="right")
    for change in changes:
        table.add_row(
            Text(one_line(change.agent)),
            spread(change.difference, 2),
            f"{change.p_value:.3f}",
            f"{change.adjusted:.3f}",
            f"{change.cost:+.3g}",
            price(change.cost_of_pass),
            f"{change.pairs:,}",
        )
    return table
