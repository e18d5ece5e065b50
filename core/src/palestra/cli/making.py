"""`palestra new KIND NAME`: write a complete new distribution whose tests pass."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from palestra.cli.unknown import Kinds

new = typer.Typer(no_args_is_help=True, cls=Kinds)

Name = Annotated[str, typer.Argument(help="Lower-case words joined by hyphens.")]
Folder = Annotated[Path, typer.Option(help="Where to put it.")]
Into = Annotated[
    Path | None,
    typer.Option(help="Folder of a plugin to add it to; without it, a new plugin is written."),
]


@new.callback()
def start() -> None:
    """Write a new plugin to start from."""


@new.command("plugin")
def new_plugin(context: typer.Context, name: Name, folder: Folder = Path()) -> None:
    """Write a plugin with a game, its tests, a README and CI; as in island-games."""
    _create("plugin", context, name, folder)


@new.command("agent")
def new_agent(
    context: typer.Context,
    name: Name,
    folder: Folder = Path(),
    into: Into = None,
    llm: Annotated[bool, typer.Option("--llm", help="One made of a language model.")] = False,
) -> None:
    """Write a plugin with an agent of that name, its tests, a README and CI; as in careful."""
    _create("llm" if llm else "agent", context, name, folder, into)


@new.command("reward")
def new_reward(
    context: typer.Context, name: Name, folder: Folder = Path(), into: Into = None
) -> None:
    """Write a plugin with a step shaper, its tests, a README and CI; as in mobility."""
    _create("reward", context, name, folder, into)


@new.command("renderer")
def new_renderer(
    context: typer.Context, name: Name, folder: Folder = Path(), into: Into = None
) -> None:
    """Write a plugin with a renderer of that mode, its tests, a README and CI; as in markdown."""
    _create("renderer", context, name, folder, into)


@new.command("site")
def new_site(context: typer.Context, name: Name, folder: Folder = Path()) -> None:
    """Write a plugin with a website to act on, its tests, a README and CI; as in island-sites."""
    _create("site", context, name, folder)


def _create(
    kind: str, context: typer.Context, name: str, folder: Path, into: Path | None = None
) -> None:
    from palestra.cli.scaffold import create_plugin

    if into is not None:
        _add(kind, context, name, folder, into)
        return
    path = create_plugin(name, folder, kind, _commands(context))
    typer.echo(f"wrote {path}\nNext:\n  cd {path}\n  pip install -e '.[dev]'\n  pytest")


def _add(kind: str, context: typer.Context, name: str, folder: Path, into: Path) -> None:
    from palestra.cli.scaffold import add_to_plugin

    if folder != Path():
        raise typer.BadParameter("--folder says where a new plugin goes; leave it out with --into")
    for place in add_to_plugin(name, into, kind, _commands(context)):
        typer.echo(f"wrote {into / place}")
    typer.echo(f"Next:\n  cd {into}\n  pip install -e '.[dev]'\n  pytest")


def _commands(context: typer.Context) -> list[str]:
    return list(getattr(context.find_root().command, "commands", ()))
