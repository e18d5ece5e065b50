"""Agents' costs as a table: success, spending, cost-of-pass, and the Pareto front."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from palestra.quoting import one_line
from rich.console import Console
from rich.table import Table
from rich.text import Text

from palestra_arena.cost import Margin, Spending, pareto_front
from palestra_arena.cost.spending import Currency
from palestra_arena.report.table import fitted, row_table, spread
from palestra_arena.statistics import Interval

COLUMNS = ("attempts", "success", "tokens in", "out", "cached", "money", "seconds", "cost-of-pass")
NAMES = {"cost": "money", "tokens": "tokens", "seconds": "seconds"}


@dataclass(frozen=True, slots=True)
class Costs:
    """Rows from the lowest cost-of-pass on, what they are counted in, and the Pareto front."""

    rows: tuple[Spending, ...]
    currency: Currency
    front: frozenset[str]

    @property
    def unit(self) -> str:
        return NAMES[self.currency]


def make_costs(rows: list[Spending], currency: Currency) -> Costs:
    points = {row.agent: (row.each, row.accuracy.value) for row in rows}
    return Costs(tuple(rows), currency, frozenset(pareto_front(points)))


@dataclass(frozen=True, slots=True)
class Dot:
    """An agent on the drawing of success against cost, in percent of its width and height."""

    agent: str
    text: str
    x: float
    y: float
    low: float
    high: float
    front: bool


def dots(costs: Costs) -> list[Dot]:
    """What an attempt cost to the right, on one scale from nothing, and success upwards."""
    most = max((row.each for row in costs.rows if math.isfinite(row.each)), default=0.0) or 1.0

    def up(share: float) -> float:
        return round(96 - 92 * share, 2)

    def label(row: Spending) -> str:
        success = spread(row.accuracy, 2)
        return f"{row.agent}: success {success}, {row.each:.3g} {costs.unit} an attempt"

    return [
        Dot(
            row.agent,
            label(row),
            round(3 + 92 * row.each / most, 2),
            up(row.accuracy.value),
            up(row.accuracy.low),
            up(row.accuracy.high),
            row.agent in costs.front,
        )
        for row in costs.rows
        if math.isfinite(row.each)
    ]


def front_line(found: list[Dot]) -> list[tuple[float, float, float, float]]:
    """The steps of the front, each from x1, y1 to x2, y2: what is paid more buys more."""
    best = sorted((dot.x, dot.y) for dot in found if dot.front)
    steps = []
    for (x1, y1), (x2, y2) in pairwise(best):
        steps += [(x1, y1, x2, y1), (x2, y1, x2, y2)]
    return steps


def cost_cells(row: Spending) -> list[str]:
    """One agent's `COLUMNS` as text."""
    used = row.usage
    return [
        f"{row.attempts:,}",
        spread(row.accuracy, 2),
        f"{used.tokens_in:,}",
        f"{used.tokens_out:,}",
        f"{used.tokens_cached:,}",
        f"{used.cost:.4f}",
        f"{used.seconds:.3g}",
        price(row.cost_of_pass),
    ]


def price(cost: Interval) -> str:
    """A cost-of-pass with its interval; what nothing can buy costs ∞."""
    value, low, high = ("∞" if math.isinf(x) else f"{x:.3g}" for x in cost)
    return f"{value} [{low},\N{NO-BREAK SPACE}{high}]"


def costs_table(costs: Costs, console: Console) -> Table:
    """Agents with a star on the front, and as many columns as the console is wide."""
    dropped = ("cached", "out", "attempts", "seconds")
    return fitted(console, COLUMNS, dropped, lambda names: _table(costs, names))


def margins_table(found: list[Margin], unit: str, console: Console) -> Table:
    """An agent a row; a star where the whole interval is above the baselines' hull."""
    each = f"{unit} a game"
    rows = [
        (
            row.agent + " *" * (row.margin.low > 0),
            {
                "margin": spread(row.margin, 2),
                "success": f"{row.success:.2f}",
                each: f"{row.each:.3g}",
                "fixed": f"{row.fixed:.3g}",
                "with its share": f"{row.total:.3g}",
                "tasks": f"{row.tasks:,}",
            },
        )
        for row in found
    ]
    names = ("margin", "success", each, "fixed", "with its share", "tasks")
    dropped = ("tasks", "success")
    return fitted(console, names, dropped, lambda names: row_table("above the hull", names, rows))


def _table(costs: Costs, names: list[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("agent", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for row in costs.rows:
        mark = " *" if row.agent in costs.front else ""
        cells = dict(zip(COLUMNS, cost_cells(row), strict=True))
        table.add_row(Text(one_line(row.agent) + mark), *(Text(cells[name]) for name in names))
    return table
