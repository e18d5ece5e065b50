"""A seat of a match that runs on a server."""

from __future__ import annotations

from typing import Any

from palestra.kernel.errors import InvalidOption
from palestra.kernel.registry import registry


def connect(url: str, **options: Any) -> Any:
    """A seat on a match server as a `gymnasium.Env`; the first plugin that knows `url` opens it.

    url: the address of the server.
    options: palestra-server's are env= (every reset opens a match, opponents= in the other seats)
        or match=, with seat=.

    Raises `InvalidOption` if no plugin opens such an address.
    """
    opened = registry().plugins.first("palestra_connect", url=url, options=options)
    if opened is None:
        raise InvalidOption(
            f"no plugin opens {url!r}; http:// and https:// need pip install palestra-server"
        )
    return opened
