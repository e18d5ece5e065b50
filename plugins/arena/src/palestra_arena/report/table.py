"""The leaderboard as a table for the terminal."""

from __future__ import annotations

from palestra.quoting import one_line
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from palestra_arena.report.leaderboard import Leaderboard, LeaderboardRow
from palestra_arena.statistics import Interval

SHORT = {"win": "W", "draw": "D", "loss": "L", "forfeit": "F"}


def leaderboard_table(board: Leaderboard, console: Console) -> Table:
    """Agents from best to worst, with as many columns as the console is wide."""
    names = columns(board)
    for dropped in ("", "s/game", "results", "score"):
        names = [name for name in names if name != dropped]
        table = _table(board, names)
        if Measurement.get(console, console.options, table).maximum < console.width:
            break
    return table


def _table(board: Leaderboard, names: list[str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right")
    table.add_column("agent", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for number, row in enumerate(board.rows, 1):
        cells = cells_of(row, board)
        table.add_row(
            str(number), Text(one_line(row.agent)), *(Text(cells[name]) for name in names)
        )
    return table


def columns(board: Leaderboard) -> list[str]:
    """The names of the columns that say something."""
    rows = board.rows
    shown = {
        board.system: any(row.rating for row in rows),
        "points": any(row.points for row in rows),
        "score": True,
        "refused": True,
        "forfeits": True,
        "games": True,
        "results": any(set(row.results) & set(SHORT) for row in rows),
        "tokens": any(row.usage.tokens for row in rows),
        "cost": any(row.usage.cost for row in rows),
        "s/game": True,
    }
    return [name for name, wanted in shown.items() if wanted]


def cells_of(row: LeaderboardRow, board: Leaderboard) -> dict[str, str]:
    """Every column of one row as text."""
    rating = row.rating
    digits = 0 if board.system in ("bradley-terry", "elo", "glicko2", "elo-mmr") else 2
    return {
        board.system: spread(Interval(*rating[1:]), digits) if rating else "",
        "points": spread(row.points, 2) if row.points else "",
        "score": spread(row.score, 2),
        "refused": percent(row.refused),
        "forfeits": percent(row.forfeited),
        "games": f"{row.games:,}",
        "results": " ".join(f"{row.results[k]}{s}" for k, s in SHORT.items() if row.results[k]),
        "tokens": f"{row.usage.tokens:,}",
        "cost": f"{row.usage.cost:.4f}",
        "s/game": f"{row.usage.seconds / row.games:.2g}",
    }


def percent(share: float | None) -> str:
    """A share with one digit; a dash where it is not known."""
    return "–" if share is None else f"{share * 100:.1f}\N{NO-BREAK SPACE}%"


def spread(interval: Interval, digits: int) -> str:
    """An estimate and its interval; a bound that is not a number is a dash."""
    low, high = (
        "–" if bound != bound else f"{bound:.{digits}f}" for bound in (interval.low, interval.high)
    )
    return f"{interval.value:.{digits}f} [{low},\N{NO-BREAK SPACE}{high}]"
