"""`palestra serve`, `mcp`, `package` and `view`, what `palestra.connect` opens, and `--watch`."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra.cli.groups import PLAY, SHARE

    from palestra_server.command import serve_command
    from palestra_server.mcp_command import mcp_command
    from palestra_server.packages import package_command
    from palestra_server.viewing.command import view_command

    app.command("serve", rich_help_panel=SHARE)(serve_command)
    app.command("mcp", rich_help_panel=SHARE)(mcp_command)
    app.command("package", rich_help_panel=SHARE)(package_command)
    app.command("view", rich_help_panel=PLAY)(view_command)


@hookimpl
def palestra_connect(url: str, options: dict[str, Any]) -> Any:
    if not url.startswith(("http://", "https://")):
        return None
    if "seats" in options:  # several seats; () for all
        from palestra_server.parallel import RemoteParallelEnv

        return RemoteParallelEnv(url, **options)
    from palestra_server.client import connect

    return connect(url, **options)


@hookimpl
def palestra_watch(title: str, options: dict[str, Any]) -> Any:
    from palestra_server.watching.live import OPEN, Live

    place = options.get("at")
    if place is None:
        return Live(title, options["viewer"], options["port"]).start()
    if place in OPEN:  # the page is this process's own
        return OPEN[place]
    from palestra_server.watching.feed import join

    return join(place)
