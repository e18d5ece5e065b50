"""`palestra new KIND NAME`: write a complete new distribution whose tests pass."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palestra.cli.unknown import Kinds

new = typer.Typer(no_args_is_help=True, cls=Kinds)

Name = Annotated[str, typer.Argument(help="Lower-case words joined by hyphens.")]
Folder = Annotated[Path, typer.Option(help="Where to put it.")]


@new.callback()
def start() -> None:
    """Write a new plugin to start from."""


@new.command("plugin")
def new_plugin(context: typer.Context, name: Name, folder: Folder = Path()) -> None:
    """Write a plugin with a game, its tests, a README and CI; as in island-games."""
    _create("plugin", context, name, folder)


@new.command("agent")
def new_agent(context: typer.Context, name: Name, folder: Folder = Path()) -> None:
    """Write a plugin with an agent of that name, its tests, a README and CI; as in careful."""
    _create("agent", context, name, folder)


@new.command("reward")
def new_reward(context: typer.Context, name: Name, folder: Folder = Path()) -> None:
    """Write a plugin with a step shaper, its tests, a README and CI; as in mobility."""
    _create("reward", context, name, folder)


@new.command("renderer")
def new_renderer(context: typer.Context, name: Name, folder: Folder = Path()) -> None:
    """Write a plugin with a renderer of that mode, its tests, a README and CI; as in markdown."""
    _create("renderer", context, name, folder)


@new.command("site")
def new_site(context: typer.Context, name: Name, folder: Folder = Path()) -> None:
    """Write a plugin with a website to act on, its tests, a README and CI; as in island-sites."""
    _create("site", context, name, folder)


def _create(kind: str, context: typer.Context, name: str, folder: Path) -> None:
    from palestra.cli.scaffold import create_plugin

    commands = getattr(context.find_root().command, "commands", ())
    path = create_plugin(name, folder, kind, commands)
    typer.echo(f"wrote {path}\nNext:\n  cd {path}\n  pip install -e '.[dev]'\n  pytest")
