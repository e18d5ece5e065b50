"""Seats of a connection whose matches another server plays: messages go there, views come back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from palestra_server.messages import SocketMessage
from palestra_server.peers import HOP

log = logging.getLogger("palestra.server")
MOST_BYTES = 16_000_000  # of one frame between servers
PATIENCE = 20.0  # seconds until a seat is given up whose server nobody replaces


@dataclass(slots=True)
class RelayedSeat:
    """A seat that is played elsewhere: how to sit down again, and on which server it is."""

    sit: SocketMessage
    address: str
    ready: asyncio.Event = field(default_factory=asyncio.Event)


class Relay:
    """The connections of one client's connection to other servers.

    say: what takes a view or failure for the client. sit: sits a client down again, wherever the
    match is played by then. gone: what ends the client's connection, which then connects anew.
    client: headers that say whose connection it is.
    """

    def __init__(
        self,
        say: Callable[[Any], None],
        sit: Callable[[SocketMessage], Awaitable[None]],
        gone: Callable[[], Awaitable[None]],
        *,
        client: dict[str, str],
    ) -> None:
        self._client = client
        self._say, self._sit, self._gone = say, sit, gone
        self._seats: dict[int, RelayedSeat] = {}
        self._open: dict[str, ClientConnection] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def has(self, handle: int) -> bool:
        return handle in self._seats

    async def sit(self, message: SocketMessage, address: str) -> None:
        """Sit down on the server at an address; raises `OSError` if it is gone."""
        socket = self._open.get(address)
        if socket is None:
            url = address.replace("http", "ws", 1) + "/ws"
            try:
                socket = await connect(
                    url,
                    max_size=MOST_BYTES,
                    proxy=None,
                    additional_headers={HOP: "1", **self._client},
                )
            except WebSocketException as error:
                raise OSError(str(error)) from error
            self._open[address] = socket
            self._start(self._read(address, socket))
        seat = self._seats[message.handle] = RelayedSeat(message, address)
        seat.ready.set()
        await self._send(socket, message)

    async def send(self, message: SocketMessage) -> None:
        """Send a message of a seat that is played elsewhere; waits while its server is replaced."""
        seat = self._seats[message.handle]
        await seat.ready.wait()
        if message.handle not in self._seats:  # it is played here now
            return
        if message.do == "leave":
            del self._seats[message.handle]
        if message.do == "look":
            seat.sit.show = message.show or seat.sit.show
        socket = self._open.get(self._seats.get(message.handle, seat).address)
        if socket is not None:
            await self._send(socket, message)

    async def _send(self, socket: ClientConnection, message: SocketMessage) -> None:
        # after a failure the reader sits down again, and the view says what was received
        with contextlib.suppress(WebSocketException):
            await socket.send(msgspec.msgpack.encode(message))

    async def _read(self, address: str, socket: ClientConnection) -> None:
        try:
            while isinstance(frame := await socket.recv(), bytes):
                told = msgspec.msgpack.decode(frame)
                for part in told if isinstance(told, list) else [told]:
                    self._pass(part)
        except (WebSocketException, msgspec.DecodeError, UnicodeDecodeError):
            pass
        del self._open[address]
        lost = [seat for seat in self._seats.values() if seat.address == address]
        for seat in lost:
            seat.ready.clear()
        if lost:
            log.warning("the server at %s is gone; %d seats sit down again", address, len(lost))
        for seat in lost:
            await self._again(seat)

    def _pass(self, part: dict[str, Any]) -> None:
        seat = self._seats.get(part.get("handle", 0))
        if seat is not None:
            seat.sit.since = max(seat.sit.since, part.get("cursor", 0))
            self._say(part)

    async def _again(self, seat: RelayedSeat) -> None:
        """Sit down where the match is played now."""
        handle, loop = seat.sit.handle, asyncio.get_running_loop()
        until = loop.time() + PATIENCE
        while loop.time() < until:
            try:
                await self._sit(seat.sit)
            except OSError:
                await asyncio.sleep(0.25)
                continue
            if self._seats.get(handle) is seat:  # it is played here now
                del self._seats[handle]
            seat.ready.set()
            return
        seat.ready.set()
        self._seats.pop(handle, None)
        await self._gone()

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for socket in list(self._open.values()):
            await socket.close()
