"""The command line: `palestra`, or `python -m palestra`."""

from __future__ import annotations

import sys
from typing import Any


def main(arguments: list[str] | None = None) -> None:
    """Run the program; an expected error is one sentence on stderr and exit code 2."""
    from palestra.cli.app import app, console_error
    from palestra.kernel.errors import PalestraError
    from palestra.kernel.registry import registry

    _add_commands(app, registry().plugins)
    try:
        app(arguments, prog_name="palestra")
    except PalestraError as error:
        console_error(str(error))
        sys.exit(2)
    except OSError as error:  # a full disk, a folder where a file should be, a port in use
        where = f"{error.filename}: " if error.filename else ""
        console_error(f"{where}{error.strerror or error}")
        sys.exit(2)


def _add_commands(app: Any, plugins: Any) -> None:
    """Let every plugin add commands; an existing command is kept, and the plugin is reported."""
    from palestra.cli.app import BUILT_IN

    lists = app.registered_commands, app.registered_groups
    for listed, built_in in zip(lists, BUILT_IN, strict=True):
        listed[:] = built_in
    owners = dict.fromkeys((info.name for listed in lists for info in listed), "palestra")
    for name in list(plugins.plugins):
        before = [len(listed) for listed in lists]
        plugins.call_one(name, "palestra_commands", app=app)
        for listed, count in zip(lists, before, strict=True):
            for info in listed[count:]:
                owner = owners.setdefault(info.name, name)
                if owner != name:
                    listed.remove(info)
                    plugins.contest(
                        name,
                        f"command {info.name!r} of plugin {name!r} is left out: it belongs to "
                        f"{owner!r}; rename it",
                    )
