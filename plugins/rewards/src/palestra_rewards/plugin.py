"""Hooks of this plugin: rewards and agents from its catalogue, and commands."""

from __future__ import annotations

from typing import Any

from palestra.catalogue.read import read_catalogue
from palestra.kernel.hooks import hookimpl
from palestra.kernel.specs import AgentSpec, RewardSpec


@hookimpl
def palestra_rewards() -> list[RewardSpec]:
    return read_catalogue("palestra_rewards").rewards


@hookimpl
def palestra_agents() -> list[AgentSpec]:
    return read_catalogue("palestra_rewards").agents


@hookimpl
def palestra_credit(names: str) -> Any:
    from palestra_rewards.crediting import TurnCredit

    return TurnCredit(names)


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra.cli.groups import AUTHOR, EVALUATE, TRAIN

    from palestra_rewards.command import rewards_command
    from palestra_rewards.credit import credit_command
    from palestra_rewards.producers import producers_command
    from palestra_rewards.repeats import repeats_command

    app.command("credit", rich_help_panel=TRAIN)(credit_command)
    app.command("producers", rich_help_panel=AUTHOR)(producers_command)
    app.command("repeats", rich_help_panel=EVALUATE)(repeats_command)
    app.command("rewards", rich_help_panel=TRAIN)(rewards_command)
