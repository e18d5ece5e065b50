"""The leaderboard as JSON and as a Markdown table, for other programs and for texts."""

from __future__ import annotations

import math
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import msgspec
from palestra.files import write_text
from palestra.quoting import one_line

from palestra_arena.report.leaderboard import Leaderboard, LeaderboardRow
from palestra_arena.report.table import cells_of, columns
from palestra_arena.statistics import Interval

MARKS = re.compile(r"[&<>|`\[\]*\\]")  # what HTML and Markdown read as more than text


def write_json(board: Leaderboard, path: str | Path, **more: Any) -> Path:
    """Write rows from best to worst; intervals are [value, low, high], unknown bounds null.

    more: further results by name, as dataclasses or lists of them.
    """
    body = {
        "system": board.system,
        "confidence": board.confidence,
        "environments": board.environments,
        "games": board.games,
        "void": board.void,
        "errors": board.errors,
        "seating": board.seating,
        "winnings": board.winnings,
        "rows": [_row(row) for row in board.rows],
        **{name: _plain(found) for name, found in more.items()},
    }
    return write_text(path, msgspec.json.format(msgspec.json.encode(body)).decode() + "\n")


def _row(row: LeaderboardRow) -> dict[str, Any]:
    return {
        "agent": row.agent,
        "rating": None if row.rating is None else _bounds(Interval(*row.rating[1:])),
        "points": None if row.points is None else _bounds(row.points),
        "score": _bounds(row.score),
        "refused_share": row.refused,
        "forfeit_share": row.forfeited,
        "answers": row.answers,
        "refused": row.mistakes,
        "forfeits": row.forfeits,
        "games": row.games,
        "results": dict(row.results),
        "usage": msgspec.to_builtins(row.usage),
    }


def _plain(found: Any) -> Any:
    """A result as JSON holds it: named fields, and null for what is not a finite number."""
    if is_dataclass(found):
        return {field.name: _plain(getattr(found, field.name)) for field in fields(found)}
    if isinstance(found, Interval):
        return _bounds(found)
    if isinstance(found, dict):
        return {name: _plain(value) for name, value in found.items()}
    if isinstance(found, list | tuple):
        return [_plain(value) for value in found]
    return msgspec.to_builtins(found)


def _bounds(interval: Interval) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in interval]


def write_markdown(board: Leaderboard, path: str | Path) -> Path:
    """Write the leaderboard's columns as a table in Markdown."""
    return write_text(path, markdown_table(board))


def markdown_table(board: Leaderboard) -> str:
    """The leaderboard's columns as a table in Markdown."""
    names = columns(board)
    lines = [_line(["#", "agent", *names]), _line(["---:", "---", *["---:"] * len(names)])]
    for number, row in enumerate(board.rows, 1):
        cells = cells_of(row, board)
        lines.append(_line([str(number), _name(row.agent), *(cells[name] for name in names)]))
    return "\n".join(lines) + "\n"


def _name(agent: str) -> str:
    """An agent's name as text, whatever Markdown or HTML it holds."""
    return MARKS.sub(lambda mark: f"&#{ord(mark[0])};", one_line(agent))


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
