"""`palestra systems`: which published system is what here, and what of it is left out."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from palestra.catalogue.systems import System, systems
from palestra.cli.entries import AsJson
from palestra.cli.pages.markdown import cell
from palestra.files import write_text
from palestra.kernel.errors import InvalidOption
from palestra.quoting import printable

WIDE = 100  # characters of a line


def systems_command(
    text: Annotated[
        str, typer.Argument(help="Words of a title, an author, an id or a command; all without.")
    ] = "",
    as_json: AsJson = False,
    page: Annotated[
        Path | None, typer.Option(help="Write all of them to a page of Markdown instead.")
    ] = None,
) -> None:
    """Find a published system: its environment, agent, reward or command, and what is left out."""
    if page is not None:
        if text:
            raise InvalidOption(f"--page lists every system; leave out {text!r}")
        write_text(page, systems_page())
        typer.echo(f"wrote {page}")
        return
    found = [one.explained() if text else one for one in systems(text)]
    if as_json:
        typer.echo(json.dumps(msgspec.to_builtins(found), indent=2))
    elif not found:
        typer.echo(f"No system has {text!r} in its title, authors or names.", err=True)
    else:
        typer.echo(printable("\n".join(line for one in found for line in lines(one))))
    if not found:
        raise typer.Exit(1)


def lines(system: System) -> Iterator[str]:
    """What a terminal shows of a system."""
    yield system.paper
    for label, said in facts(system):
        yield from textwrap.wrap(
            said, WIDE, initial_indent=f"  {label:<10}", subsequent_indent=" " * 12
        )


def facts(system: System) -> Iterator[tuple[str, str]]:
    """Labels and texts: what it is here, what is left out, or why it is not here."""
    if system.here:
        yield "here", ", ".join(system.here)
    if system.left_out:
        yield "left out", system.left_out
    if system.absent:
        yield "not here", system.absent
    if system.nearest:
        yield "nearest", ", ".join(system.nearest)


def systems_page() -> str:
    """One page of Markdown: every system with what it is here, then those that are not."""
    found = [one.explained() for one in systems()]
    lines = [
        "# Published systems",
        "",
        "Written by `palestra systems --page docs/systems.md` from what the installed plugins "
        "declare. `palestra systems TEXT` finds a paper by title, author, id or command.",
        "",
        "| paper | here | left out |",
        "|---|---|---|",
    ]
    for one in found:
        if one.here:
            here = "<br>".join(f"`{cell(name)}`" for name in one.here)
            lines.append(f"| {cell(one.paper)} | {here} | {cell(one.left_out)} |")
    lines += ["", "## Not here", "", "| paper | why | nearest |", "|---|---|---|"]
    for one in found:
        if one.absent:
            near = "<br>".join(f"`{cell(name)}`" for name in one.nearest)
            lines.append(f"| {cell(one.paper)} | {cell(one.absent)} | {near} |")
    return "\n".join([*lines, ""])
