"""Tables and cells of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from palestra.kernel.specs import OptionSpec

_MARKUP = re.compile(r"([|<>*_\[\]])")
LONGEST_DEFAULT = 60


def cell(text: str) -> str:
    """Prose for a cell of a table: one line, and bars that do not end the cell."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """A value as code in a cell; nothing for an empty one."""
    shown = cell(text)
    return f"`{shown}`" if shown else ""


def plain(text: str) -> str:
    """Text of a cell in which only `code` is markup: all else that Markdown reads is escaped."""
    parts = " ".join(text.split()).split("`")
    if len(parts) % 2 == 0:
        return _MARKUP.sub(r"\\\1", "\\`".join(parts))
    shown = (cell(p) if n % 2 else _MARKUP.sub(r"\\\1", p) for n, p in enumerate(parts))
    return "`".join(shown)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; no lines where there are no rows."""
    body = [f"| {' | '.join(row)} |" for row in rows]
    if not body:
        return []
    return [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}", *body]


def section(title: str, lines: Sequence[str], level: int = 2) -> list[str]:
    """A heading with its lines; nothing where there are none."""
    return [f"{'#' * level} {title}", "", *lines, ""] if lines else []


def options_table(options: Sequence[OptionSpec]) -> list[str]:
    """Every option with its default, what it accepts, and what it means."""
    rows = []
    for option in options:
        default = option.default
        if len(default) > LONGEST_DEFAULT:
            default = f"{default[:LONGEST_DEFAULT]}…"
        unit = f" ({option.unit})" if option.unit else ""
        rows.append(
            (
                code(option.name),
                code(default),
                plain(option.accepts),
                plain(option.description) + unit,
            )
        )
    return table(("option", "default", "accepts", "meaning"), rows)
