"""`palestra catalogue`: write down what a package declares."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palestra.catalogue.build import stale, write_catalogue
from palestra.cli.pages import catalogue_page
from palestra.files import write_text
from palestra.kernel.errors import InvalidOption


def catalogue_command(
    packages: Annotated[
        list[str] | None, typer.Argument(help="Import names, such as palestra_games.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if a catalogue is out of date.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option(help="Also write a page that lists everything installed.")
    ] = None,
) -> None:
    """Write each package's catalogue.json from what its modules declare."""
    if page is not None:
        if packages:
            raise InvalidOption(
                "--page lists what plugins declare, which is read before any catalogue is written; "
                f"write catalogues first, and then the page: palestra catalogue --page {page}"
            )
        write_text(page, catalogue_page())
        typer.echo(f"wrote {page}")
    packages = packages or []
    if check:
        problems = [problem for package in packages if (problem := stale(package))]
        for problem in problems:
            typer.echo(problem, err=True)
        raise typer.Exit(1 if problems else 0)
    for package in packages:
        path, changed = write_catalogue(package)
        typer.echo(f"{'wrote' if changed else 'unchanged:'} {path}")
