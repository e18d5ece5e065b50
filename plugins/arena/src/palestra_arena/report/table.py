"""The leaderboard as a table for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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
    dropped = ("s/game", "results", "score")
    return fitted(console, columns(board), dropped, lambda names: _table(board, names))


def fitted(
    console: Console,
    names: Sequence[str],
    dropped: Sequence[str],
    build: Callable[[list[str]], Table],
) -> Table:
    """What `build` makes of the column names, without as few of `dropped` as the console allows."""
    for count in range(len(dropped) + 1):
        table = build([name for name in names if name not in dropped[:count]])
        if Measurement.get(console, console.options, table).maximum < console.width:
            break
    return table


def row_table(
    title: str, names: Sequence[str], rows: Iterable[tuple[str, dict[str, str]]]
) -> Table:
    """A table of rows with a name below `title` and a cell for each of `names`."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(Text(one_line(title)), no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for label, cells in rows:
        table.add_row(Text(one_line(label)), *(Text(cells[name]) for name in names))
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
