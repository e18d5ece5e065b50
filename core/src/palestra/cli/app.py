"""The program's commands."""

import typer

app = typer.Typer()
