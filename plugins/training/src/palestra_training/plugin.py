"""What this plugin gives: the commands of language models that learn."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra.cli.groups import TRAIN

    from palestra_training.command import train_command
    from palestra_training.estimate_command import estimate_command
    from palestra_training.export_command import export_command

    app.command("estimate-llm", rich_help_panel=TRAIN)(estimate_command)
    app.command("export-llm", rich_help_panel=TRAIN)(export_command)
    app.command("train-llm", rich_help_panel=TRAIN)(train_command)
