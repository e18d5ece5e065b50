"""The command line's app; commands that belong together share a module."""

from __future__ import annotations

import typer

from palestra.cli import (
    cataloguing,
    checking,
    compiling,
    explaining,
    fuzzing,
    listing,
    making,
    measuring,
    pages,
    papers,
    playing,
    rescoring,
)
from palestra.cli.groups import AUTHOR, EVALUATE, PLAY
from palestra.cli.unknown import Commands
from palestra.quoting import open_console, printable
from palestra.version import __version__

app = typer.Typer(
    name="palestra",
    cls=Commands,
    help="One set of rules, every way to play it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def console_error(message: str) -> None:
    """Print one sentence to stderr, without wrapping and without reading markup in it."""
    said = printable(f"palestra: {message}")
    open_console(stderr=True, soft_wrap=True).print(said, style="red", markup=False)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"palestra {__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """One set of rules, every way to play it."""


for _name, _command, _group in (
    ("play", playing.play_command, PLAY),
    ("list", listing.list_environments, PLAY),
    ("info", explaining.info, PLAY),
    ("agents", listing.list_agents, PLAY),
    ("systems", papers.systems_command, PLAY),
    ("replay", playing.replay_command, PLAY),
    ("measure", measuring.measure_command, EVALUATE),
    ("metrics", listing.list_metrics, EVALUATE),
    ("rescore", rescoring.rescore_command, EVALUATE),
    ("check", checking.check_command, AUTHOR),
    ("fuzz", fuzzing.fuzz_command, AUTHOR),
    ("compile", compiling.compile_command, AUTHOR),
    ("catalogue", cataloguing.catalogue_command, AUTHOR),
    ("pages", pages.pages_command, AUTHOR),
    ("reference", pages.reference_command, AUTHOR),
    ("plugins", listing.list_plugins, AUTHOR),
):
    app.command(_name, rich_help_panel=_group)(_command)
app.add_typer(making.new, name="new", help="Start something of your own.", rich_help_panel=AUTHOR)

BUILT_IN = list(app.registered_commands), list(app.registered_groups)
