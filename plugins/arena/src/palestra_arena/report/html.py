"""The leaderboard as one page that needs no network: rows, intervals drawn, cross table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from palestra import __version__
from palestra.files import write_text
from palestra.html import render_page
from palestra.quoting import printable

from palestra_arena.report.costs import COLUMNS, Costs, cost_cells, dots, front_line
from palestra_arena.report.leaderboard import Leaderboard, LeaderboardRow
from palestra_arena.report.table import cells_of, columns
from palestra_arena.settings import Settings
from palestra_arena.statistics import Interval


@dataclass(frozen=True, slots=True)
class Whisker:
    """An agent's interval on the drawing, in percent of its width."""

    agent: str
    text: str
    at: float
    low: float
    high: float


def write_page(
    board: Leaderboard,
    settings: Settings | None,
    path: str | Path,
    costs: Costs | None = None,
) -> Path:
    """Write the page; names are escaped, and the file is replaced whole or not at all."""
    values = page_data(board, settings, costs)
    page = render_page("palestra_arena", "leaderboard.html", **values)
    return write_text(path, printable(page))  # a direction in a name would turn others around


def page_data(
    board: Leaderboard, settings: Settings | None, costs: Costs | None = None
) -> dict[str, Any]:
    """What the template shows."""
    names = columns(board)
    drawn = dots(costs) if costs else []
    agents = [row.agent for row in board.rows]
    shown = settings and msgspec.json.format(msgspec.json.encode(settings), indent=2).decode()
    return {
        "board": board,
        "columns": names,
        "rows": [[cells_of(row, board)[name] for name in names] for row in board.rows],
        "agents": agents,
        "whiskers": whiskers(board),
        "ticks": ticks(board),
        "axis": board.system if any(row.rating for row in board.rows) else "score",
        "cross": [[_cell(board, one, two) for two in agents] for one in agents],
        "costs": costs,
        "cost_columns": COLUMNS,
        "cost_rows": [(row.agent, cost_cells(row)) for row in costs.rows] if costs else [],
        "dots": drawn,
        "front": front_line(drawn),
        "settings": shown,
        "version": __version__,
    }


def whiskers(board: Leaderboard) -> list[Whisker]:
    """Every agent's main interval, on one scale."""
    bottom, top = _ends(board)
    room = (top - bottom) or 1.0

    def place(x: float) -> float:
        return round(2 + 96 * (x - bottom) / room, 2)

    bars = [(row, _main(row)) for row in board.rows]
    return [
        Whisker(
            row.agent,
            cells_of(row, board)[board.system] or cells_of(row, board)["score"],
            place(bar.value),
            place(bar.low if math.isfinite(bar.low) else bar.value),
            place(bar.high if math.isfinite(bar.high) else bar.value),
        )
        for row, bar in bars
    ]


def ticks(board: Leaderboard) -> list[str]:
    """The ends and the middle of that scale."""
    bottom, top = _ends(board)
    return [f"{x:.4g}" for x in (bottom, (bottom + top) / 2, top)]


def _ends(board: Leaderboard) -> tuple[float, float]:
    ends = [x for row in board.rows for x in _main(row) if math.isfinite(x)]
    return min(ends, default=0.0), max(ends, default=1.0)


def _main(row: LeaderboardRow) -> Interval:
    return Interval(*row.rating[1:]) if row.rating else row.score


def _cell(board: Leaderboard, one: str, two: str) -> dict[str, Any] | None:
    """What one agent made of its games with another; None if they did not meet."""
    pairing = board.pairings.get((one, two))
    if pairing is None:
        return None
    share = pairing.points
    return {
        "share": f"{share.value:.2f}",
        "interval": f"{share.low:.2f}–{share.high:.2f}",
        "games": pairing.games,
        "strength": round(abs(share.value - 0.5) * 2, 3),
        "wins": share.value >= 0.5,
    }
