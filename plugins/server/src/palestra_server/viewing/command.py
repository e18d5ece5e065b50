"""`palestra view`."""

from __future__ import annotations

import secrets
import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from palestra import InvalidOption
from palestra.quoting import open_console


def view_command(
    folder: Annotated[Path, typer.Argument(help="Folder of runs, or a file of records.")] = Path(
        "runs"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 chooses a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = False,
) -> None:
    """Browse the records under a folder: filter them, and open their replays."""
    import uvicorn

    from palestra_server.listening import listen
    from palestra_server.viewing.app import Viewer
    from palestra_server.viewing.folder import read_folder

    if not folder.exists():
        raise InvalidOption(f"there is no folder {folder}; palestra play --out {folder} makes one")
    found = read_folder(folder)
    if not found.records:
        why = f": {found.problems[0]}" if found.problems else ""
        raise InvalidOption(f"{folder} holds no records{why}")
    with listen("127.0.0.1", port) as socket:
        key, number = secrets.token_urlsafe(16), socket.getsockname()[1]
        address = f"http://127.0.0.1:{number}/#key={key}"
        open_console().print(
            f"{len(found.records):,} records\nview    {address}", soft_wrap=True, highlight=False
        )
        if browser:
            webbrowser.open(address)
        app = Viewer(found, folder, key, number).app()
        config = uvicorn.Config(
            app, log_level="error", log_config=None, access_log=False, lifespan="off"
        )
        uvicorn.Server(config).run([socket])
