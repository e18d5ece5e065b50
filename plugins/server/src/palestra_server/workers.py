"""`palestra serve --workers N`: processes behind one port, and on one database.

The operating system hands connections to any process; a request for a match that another process
plays is passed on to it (`peers`). uvicorn's supervisor starts the processes, and starts one again
that has died; meanwhile the others go on with its matches.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from socket import socket
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from uvicorn.supervisors import Multiprocess

from palestra_server import connections
from palestra_server.allowed import EVERYWHERE, Allowed
from palestra_server.app import create_app
from palestra_server.dialects import Dialect
from palestra_server.dialects.opening import open_dialect
from palestra_server.limits import Limits
from palestra_server.listening import listen
from palestra_server.logs import write_logs
from palestra_server.peers import Peers
from palestra_server.plans import MatchDefaults
from palestra_server.proxies import TRUSTED
from palestra_server.security import LOOPBACK
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore

MOST_OF_A_FRAME = 1_000_000  # bytes that a client may send at once on a socket
SETTINGS = "PALESTRA_WORKER"  # the environment variable by which a process gets its settings


class Settings(msgspec.Struct):
    """What each process serves.

    store: the database's URL. hosts: host names that requests may use. inside: the address on
    which the processes reach each other. upstream: a model server, and its key. allowed: what
    clients may name. usual: what matches get whose creator does not say. proxies: addresses
    and networks of trusted proxies.
    """

    store: str
    hosts: list[str] = []
    token: str = ""
    dialects: list[str] = []
    upstream: str = ""
    upstream_key: str = ""
    upstream_tokens: bool = False
    inside: str = "127.0.0.1"
    limits: Limits = msgspec.field(default_factory=Limits)
    log_json: bool = False
    other_versions: bool = False
    allowed: Allowed = EVERYWHERE
    usual: MatchDefaults = MatchDefaults()
    proxies: tuple[str, ...] = TRUSTED


def serve_workers(settings: Settings, count: int, listening: socket, **more: Any) -> None:
    """Serve with `count` processes until they are stopped; `more` are settings of uvicorn."""
    os.environ[SETTINGS] = msgspec.json.encode(settings).decode()
    config = uvicorn.Config(
        "palestra_server.workers:create",
        factory=True,
        workers=count,
        ws_max_size=MOST_OF_A_FRAME,
        **connections.SETTINGS,
        **more,
    )
    Multiprocess(config, sockets=[listening]).run()


def create() -> Starlette:
    """The application of one process, with the settings of its environment."""
    settings = msgspec.json.decode(os.environ[SETTINGS], type=Settings)
    connections.set_bounds(settings.limits.per_address, settings.proxies)
    _end_with_parent()
    write_logs(settings.log_json)
    return peer_app(settings)


def _end_with_parent() -> None:
    """Stop this process when the supervisor that started it is gone, however it ended."""
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()


def peer_app(settings: Settings) -> Starlette:
    """A server on a database that others use too, and its own address for them."""
    inside = listen(settings.inside, 0)
    inside.listen()
    host, port = inside.getsockname()[:2]
    store = MatchStore(settings.store)
    peers = Peers(store, f"http://{host}:{port}")
    server = MatchServer(
        *(store, settings.limits, peers),
        allowed=settings.allowed,
        other_versions=settings.other_versions,
        usual=settings.usual,
    )
    dialects: list[Dialect] = [
        open_dialect(name, server, settings.token) for name in settings.dialects
    ]
    if settings.upstream:
        from palestra_server.dialects.openai import CaptureDialect

        dialects.append(
            CaptureDialect(
                server, settings.upstream, settings.upstream_key, tokens=settings.upstream_tokens
            )
        )
    hosts = [*LOOPBACK, host, *settings.hosts]
    app = create_app(
        server, hosts=hosts, token=settings.token, dialects=dialects, proxies=settings.proxies
    )
    return _reachable(app, inside)


def _reachable(app: Starlette, inside: socket) -> Starlette:
    """The application, which also listens where its peers reach it while it runs."""
    own = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(outer: Any) -> AsyncIterator[None]:
        async with own(outer):
            config = uvicorn.Config(
                app, lifespan="off", ws_max_size=16_000_000, **connections.SETTINGS
            )
            server = Inner(config)
            serving = asyncio.create_task(server.serve([inside]))
            try:
                yield
            finally:
                server.should_exit = True
                await serving

    app.router.lifespan_context = lifespan
    return app


class Inner(uvicorn.Server):
    """A server within another one, which has the signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the supervisor, which stops its workers."""
        yield
