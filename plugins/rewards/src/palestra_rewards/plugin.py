"""What this plugin gives: reward shapers and estimators by name, and commands that use them."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import RewardSpec


@hookimpl
def palestra_rewards() -> list[RewardSpec]:
    from palestra_rewards.entries import entries

    return [entry.spec for entry in entries()]


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra_rewards.command import rewards_command
    from palestra_rewards.credit import credit_command

    app.command("credit")(credit_command)
    app.command("rewards")(rewards_command)
