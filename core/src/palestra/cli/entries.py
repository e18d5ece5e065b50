"""Lists of what is installed, one line an entry: `palestra list`, `agents`, `rewards`, `metrics`.

A terminal gets lines that fit its width. A pipe or a file gets everything, in the same columns.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import Annotated, Any

import typer

from palestra.kernel.errors import UnknownName
from palestra.quoting import printable

Columns = dict[str, Callable[[Any], str]]
SUMMARY: Columns = {"what it is": attrgetter("summary")}
Search = Annotated[
    str | None,
    typer.Option(help="Only those with all these words in id, summary, paper or family."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Long = Annotated[bool, typer.Option("--long", help="More columns, and nothing cut.")]
SEARCHED = ("id", "name", "summary", "paper", "family")
NARROWEST = 20  # characters that are left for the last column, however narrow the terminal


def matching(specs: Iterable[Any], search: str | None) -> list[Any]:
    """The specs in which every word of `search` is found, in small or capital letters."""
    words = (search or "").casefold().split()
    texts = (
        (spec, " ".join(getattr(spec, name, "") for name in SEARCHED).casefold()) for spec in specs
    )
    return [spec for spec, text in texts if all(word in text for word in words)]


def check_value(what: str, given: str | None, known: Iterable[str], hint: str = "") -> None:
    """Raise `UnknownName`, which names what is accepted, for a filter's unknown value."""
    accepted = sorted(known)
    if given is None or given in accepted:
        return
    error = UnknownName(what, given, accepted, hint)
    if error.close:  # the message has these instead of all
        hint = f"Accepted: {', '.join(accepted)}. {hint}".strip()
        error = UnknownName(what, given, accepted, hint)
    raise error


def print_entries(
    specs: Iterable[Any],
    search: str | None,
    columns: Columns,
    more: Columns,
    *,
    as_json: bool,
    long: bool,
    nothing: str,
) -> None:
    """Print the specs that match `search`, as JSON or as a table that ends with their summaries.

    `more` columns are for the long table. `nothing` is said on stderr if no spec is left.
    """
    found = matching(specs, search)
    if not found:
        typer.echo(nothing, err=True)
    if as_json:
        typer.echo(json.dumps([asdict(spec) for spec in found], indent=2))
    elif found:
        fits = sys.stdout.isatty() and not long
        width = shutil.get_terminal_size().columns if fits else None
        shown = columns | (more if long else {}) | SUMMARY
        typer.echo("\n".join(lines(found, shown, width)))


def no_match(what: str, filters: Mapping[str, object], kinds: str, known: Iterable[str]) -> str:
    """That no entry passes the filters, and what there is instead."""
    given = " ".join(f"{name} {value}" for name, value in filters.items() if value is not None)
    names = ", ".join(sorted(known))
    if not given:
        return f"No {what} is installed."
    return f"No {what} matches {given}." + (f" Installed {kinds}: {names}." if names else "")


def lines(specs: Iterable[Any], columns: Columns, width: int | None) -> list[str]:
    """A header and a line for each spec; the last column is cut where lines have a width."""
    rows = [tuple(columns)] + [
        tuple(" ".join(printable(show(spec)).split()) for show in columns.values())
        for spec in specs
    ]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    left = None if width is None else max(NARROWEST, width - sum(wide) - 2 * len(wide))
    return [
        "  ".join([*map(str.ljust, row, wide), row[-1] if left is None else cut(row[-1], left)])
        for row in rows
    ]


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
