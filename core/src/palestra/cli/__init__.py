"""The command line: `palestra`, or `python -m palestra`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


def main(arguments: list[str] | None = None) -> None:
    """Run the program; an expected error is one sentence on stderr and exit code 2."""
    from palestra.cli.app import BUILT_IN, app, console_error
    from palestra.kernel.errors import PalestraError
    from palestra.kernel.registry import registry

    add_commands(app, registry().plugins, BUILT_IN)
    try:
        app(arguments, prog_name="palestra")
    except PalestraError as error:
        console_error(str(error))
        sys.exit(2)
    except OSError as error:  # a full disk, a folder where a file should be, a port in use
        where = f"{error.filename}: " if error.filename else ""
        console_error(f"{where}{error.strerror or error}")
        sys.exit(2)


def add_commands(app: Any, plugins: Any, own: Sequence[Sequence[Any]]) -> None:
    """Let every plugin add commands; an existing command is kept, and the plugin is reported.

    A command without a group of `palestra --help` is shown in the last one. `own` are the
    built-in commands and groups of commands.
    """
    from palestra.cli.groups import group_of

    lists = app.registered_commands, app.registered_groups
    for listed, built_in in zip(lists, own, strict=True):
        listed[:] = built_in
    owners = dict.fromkeys((command_name(info) for listed in lists for info in listed), "palestra")
    for name in list(plugins.plugins):
        before = [list(listed) for listed in lists]
        plugins.call_one(name, "palestra_commands", app=app)
        for listed, kept in zip(lists, before, strict=True):
            added = [info for info in listed if info not in kept]
            listed[:] = kept
            for info in added:
                called = command_name(info)
                owner = owners.setdefault(called, name)
                if owner == name:
                    info.rich_help_panel = group_of(info)
                    listed.append(info)
                    continue
                plugins.contest(
                    name,
                    f"command {called!r} of plugin {name!r} is left out: it belongs to "
                    f"{owner!r}; rename it",
                )


def command_name(info: Any) -> str:
    """What a command or a group of them is called: the name given, or that of its function."""
    group = getattr(info, "typer_instance", None)
    own = getattr(getattr(group, "info", None), "name", None)
    for named in (info.name, own):
        if isinstance(named, str):
            return named
    called = getattr(info.callback, "__name__", "")
    return str(called).lower().replace("_", "-")
