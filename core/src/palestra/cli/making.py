"""`palestra new plugin NAME`: a distribution of your own, complete and green."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

new = typer.Typer(no_args_is_help=True)


@new.callback()
def start() -> None:
    """Start something of your own."""


@new.command("plugin")
def new_plugin(
    name: Annotated[str, typer.Argument(help="Lower-case, such as island-games.")],
    folder: Annotated[Path, typer.Option(help="Where to put it.")] = Path(),
) -> None:
    """Write a complete plugin: one working game, its tests, a README and CI."""
    from palestra.cli.scaffold import create_plugin

    path = create_plugin(name, folder)
    typer.echo(f"wrote {path}\nNext:\n  cd {path}\n  pip install -e '.[dev]'\n  pytest")
