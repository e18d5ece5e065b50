"""`--watch`, as every command that has it opens and closes the live page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console

from palestra.runner.watching import LivePage, Viewer, open_watch

Watch = Annotated[
    bool, typer.Option("--watch", help="Open a live page of the run on this machine.")
]
WatchPort = Annotated[
    int, typer.Option(min=0, max=65535, help="Port of the live page; 0 chooses a free one.")
]


@contextmanager
def watched(
    asked: bool, port: int, title: str, console: Console, viewer: Viewer = "all"
) -> Iterator[LivePage | None]:
    """The live page of a command while it runs, whose address is printed; None if not asked for."""
    if not asked:
        yield None
        return
    page = open_watch(title, viewer=viewer, port=port)
    console.print(f"watch   {page.address}", soft_wrap=True, highlight=False)
    try:
        yield page
    finally:
        page.close()
