"""What this plugin gives: the commands `palestra train-llm` and `palestra export-llm`."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra.cli.groups import TRAIN

    from palestra_training.command import train_command
    from palestra_training.export_command import export_command

    app.command("export-llm", rich_help_panel=TRAIN)(export_command)
    app.command("train-llm", rich_help_panel=TRAIN)(train_command)
