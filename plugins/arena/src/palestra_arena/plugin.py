"""The commands of this plugin: `ablate`, `probe`, `tournament`, `results`, `push`, `pull`."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra.cli.groups import EVALUATE, SHARE

    from palestra_arena.ablate_command import ablate_command
    from palestra_arena.command import results_command, tournament_command
    from palestra_arena.probe_command import probe_command
    from palestra_arena.share_command import pull_command, push_command

    app.command("ablate", rich_help_panel=EVALUATE)(ablate_command)
    app.command("probe", rich_help_panel=EVALUATE)(probe_command)
    app.command("tournament", rich_help_panel=EVALUATE)(tournament_command)
    app.command("results", rich_help_panel=EVALUATE)(results_command)
    app.command("push", rich_help_panel=SHARE)(push_command)
    app.command("pull", rich_help_panel=SHARE)(pull_command)
