"""The command line's app; each group of commands has a module of its own."""

from __future__ import annotations

import typer
from rich.console import Console

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
    playing,
    rescoring,
)
from palestra.cli.unknown import Commands
from palestra.quoting import printable
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
    Console(stderr=True, soft_wrap=True).print(said, style="red", markup=False)


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


app.command("list")(listing.list_environments)
app.command("agents")(listing.list_agents)
app.command("info")(explaining.info)
app.command("pages")(pages.pages_command)
app.command("reference")(pages.reference_command)
app.command("plugins")(listing.list_plugins)
app.command("play")(playing.play_command)
app.command("replay")(playing.replay_command)
app.command("measure")(measuring.measure_command)
app.command("rescore")(rescoring.rescore_command)
app.command("catalogue")(cataloguing.catalogue_command)
app.command("check")(checking.check_command)
app.command("compile")(compiling.compile_command)
app.command("fuzz")(fuzzing.fuzz_command)
app.add_typer(making.new, name="new", help="Start something of your own.")

BUILT_IN = list(app.registered_commands), list(app.registered_groups)
