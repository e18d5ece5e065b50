"""What this plugin gives: the command `palestra train-llm`."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra_training.command import train_command

    app.command("train-llm")(train_command)
