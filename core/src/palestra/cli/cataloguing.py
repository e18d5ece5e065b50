"""`palestra catalogue`: write down what a package declares."""

from __future__ import annotations

from typing import Annotated

import typer

from palestra.kernel.catalogue import stale, write_catalogue


def catalogue_command(
    packages: Annotated[list[str], typer.Argument(help="Import names, such as palestra_games.")],
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; fail if a catalogue is out of date.")
    ] = False,
) -> None:
    """Write each package's catalogue.json from what its modules declare."""
    if check:
        problems = [problem for package in packages if (problem := stale(package))]
        for problem in problems:
            typer.echo(problem, err=True)
        raise typer.Exit(1 if problems else 0)
    for package in packages:
        path, changed = write_catalogue(package)
        typer.echo(f"{'wrote' if changed else 'unchanged:'} {path}")
