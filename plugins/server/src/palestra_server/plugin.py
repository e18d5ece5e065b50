"""`palestra serve`, `package` and `view`, what `palestra.connect` opens, and `--watch`."""

from __future__ import annotations

from typing import Any

from palestra.kernel.hooks import hookimpl


@hookimpl
def palestra_commands(app: Any) -> None:
    from palestra_server.command import serve_command
    from palestra_server.packages import package_command
    from palestra_server.viewing.command import view_command

    app.command("serve")(serve_command)
    app.command("package")(package_command)
    app.command("view")(view_command)


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
