"""Agents compared with one of them as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from palestra_arena.cube.against import Change
from palestra_arena.report.costs import price
from palestra_arena.report.table import fitted, row_table, spread

COLUMNS = ("score", "p", "Holm", "cost", "cost-of-pass", "pairs")


def changes_table(changes: Sequence[Change], base: str, console: Console) -> Table:
    """An agent a row, in the order in which they are named, as wide as the console."""
    rows = [(change.agent, _cells(change)) for change in changes]
    title = f"against {base}"
    return fitted(console, COLUMNS, ("pairs", "cost"), lambda names: row_table(title, names, rows))


def _cells(change: Change) -> dict[str, str]:
    return {
        "score": spread(change.difference, 2),
        "p": f"{change.p_value:.3f}",
        "Holm": f"{change.adjusted:.3f}",
        "cost": f"{change.cost:+.2g}",
        "cost-of-pass": price(change.cost_of_pass),
        "pairs": f"{change.pairs:,}",
    }
