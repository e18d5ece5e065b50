"""Model Context Protocol over standard input and output, for clients that start a command."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from palestra_server.app import create_app
from palestra_server.dialects.calling import Caller
from palestra_server.dialects.mcp_tools import Asker, SeatTools
from palestra_server.messages import Create
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore

CHUNK = 65_536
SESSION = "stdio"  # the one session of the process
Opener = Callable[[], Awaitable[str]]
Played = AbstractAsyncContextManager[tuple[Caller, Opener | None]]


@asynccontextmanager
async def own_server(wanted: Create) -> AsyncIterator[tuple[Caller, Opener | None]]:
    """A match server within this process, and what opens a match there; the first is open.

    Raises `InvalidOption` or `UnknownName` for a match that cannot be played.
    """
    server = MatchServer(MatchStore("sqlite:///:memory:"))
    app = create_app(server)

    async def open_match() -> str:
        return (await server.create_own(wanted)).match

    async with app.router.lifespan_context(app):
        await open_match()
        yield Caller(app), open_match


@asynccontextmanager
async def server_at(url: str) -> AsyncIterator[tuple[Caller, Opener | None]]:
    """The match server at an address, which opens no matches for its clients by MCP."""
    yield Caller(url), None


async def serve(played: Played, token: str = "") -> None:
    """Speak the protocol until the input ends or the process is told to end.

    token: of the seat that the client starts with.
    """
    this = asyncio.current_task()
    assert this is not None
    with suppress(NotImplementedError):  # Windows ends the process by itself
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    with _streams_of_the_process() as (source, sink):
        async with played as (server, open_match):
            tools = SeatTools(lambda _: Asker("", SESSION, server), open_match=open_match)
            tools.sit(SESSION, token)
            protocol = tools.protocol
            with suppress(BrokenPipeError):
                async with stdio_server(source, sink) as (reader, writer):
                    await protocol.run(reader, writer, protocol.create_initialization_options())


@contextmanager
def _streams_of_the_process() -> Iterator[tuple[Any, Any]]:
    """The process's input and output as files for the protocol alone.

    Meanwhile, whatever prints goes to the standard error stream and whatever reads finds the end,
    in child processes too.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        wire = open(sink, "w", encoding="utf-8", newline="\n", closefd=False)  # noqa: SIM115
        yield _Lines(source), anyio.wrap_file(wire)
    finally:
        os.dup2(source, 0)  # a thread may still read from `source`, so that it stays open
        os.dup2(sink, 1)
        os.close(sink)


class _Lines:
    """The lines of a descriptor, read in a thread that the end of the process does not wait for."""

    def __init__(self, source: int) -> None:
        self._source, self._loop = source, asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        rest = b""
        with suppress(RuntimeError):  # the loop is closed
            while chunk := os.read(self._source, CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._put(line.decode("utf-8", "replace"))
            self._put(None)

    def _put(self, line: str | None) -> None:
        self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line
