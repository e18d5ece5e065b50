"""The command line: `palestra`, or `python -m palestra`."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> None:
    """Run the program; an expected error is one sentence on stderr and exit code 2."""
    from palestra.cli.app import app, console_error
    from palestra.kernel.errors import PalestraError
    from palestra.kernel.registry import registry

    registry().plugins.call_each("palestra_commands", app=app)
    try:
        app(arguments, prog_name="palestra")
    except PalestraError as error:
        console_error(str(error))
        sys.exit(2)
