"""A WebSocket: any number of seats on one connection, answers in, views out.

It speaks ASGI itself: starlette's own socket, and what it puts around each send, would cost a turn
a tenth more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from palestra.kernel.errors import cause
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from palestra_server.match import Match
from palestra_server.messages import SocketMessage
from palestra_server.peers import HOP, TAKEN_OVER, Elsewhere, forwarded
from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused, refuse_repeated
from palestra_server.relay import Relay
from palestra_server.seats import SeatKey
from palestra_server.server import MatchServer
from palestra_server.store import StoreError
from palestra_server.table import WATCHER

log = logging.getLogger("palestra.server")
MOST_SEATS = 4_096  # of one connection
MOST_BYTES = 1_000_000  # of one frame
_json = msgspec.json.Decoder(SocketMessage | list[SocketMessage])
_msgpack = msgspec.msgpack.Decoder(SocketMessage | list[SocketMessage])


@dataclass(slots=True)
class Sitting:
    """A seat that is played on this connection."""

    key: SeatKey
    match: Match
    handle: int
    since: int
    show: tuple[str, ...]
    live: bool
    asked: int = -1  # the number of the answer that was last asked for
    ended: bool = False
    away: bool = False  # whether the client knows that a substitute plays
    leave: Callable[[], None] | None = None


class SocketSession:
    """Serves one connection until it closes; its seats are kept, and can be reconnected to.

    A text frame is JSON, a binary frame msgpack; the answers are in the form of the last frame.
    Views that are ready together go out in one frame, as a list.
    """

    def __init__(self, server: MatchServer, scope: Scope, receive: Receive, send: Send) -> None:
        self._server, self._receive, self._send = server, receive, send
        self._sitting: dict[int, Sitting] = {}
        self._due: dict[int, bool] = {}  # handles with something to say; whether asked for
        self._said: list[Any] = []
        told = forwarded(scope)
        self._relay = Relay(self._pass_on, self._sit_down, self._gone, client=told)
        self._hop = HOP in Headers(scope=scope)  # whether another server speaks here for its client
        self._ready = asyncio.Event()
        self._lost: asyncio.Task[None] | None = None
        self._later: set[asyncio.Task[None]] = set()
        self._binary = False

    async def serve(self) -> None:
        await self._receive()  # websocket.connect
        await self._send({"type": "websocket.accept"})
        if self._server.metrics.sockets >= self._server.limits.sockets:
            self._server.metrics.throttled += 1
            await self._close(1013, "too many connections; try later")
            return
        self._server.metrics.sockets += 1
        writer = asyncio.create_task(self._write())
        try:
            await self._read()
        finally:
            for task in (writer, *self._later):
                task.cancel()
            await self._relay.close()
            self._server.metrics.sockets -= 1
            for sitting in self._sitting.values():
                if sitting.leave:
                    sitting.leave()

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        second, taken, most = 0, 0, self._server.limits.messages
        while True:
            frame = await self._receive()
            if frame["type"] == "websocket.disconnect":
                return
            messages = self._decode(frame)
            if int(loop.time()) != second:
                second, taken = int(loop.time()), 0
            taken += len(messages)
            if taken > most:
                self._server.metrics.throttled += 1
                await self._close(1008, f"at most {most} messages a second")
                return
            for message in messages:
                await self._take(message)

    async def _take(self, message: SocketMessage) -> None:
        try:
            await self._handle(message)
        except Elsewhere:
            await self._gone()
        except Exception as error:
            self._refuse(error, message.handle)

    def _postpone(self, message: SocketMessage, key: SeatKey) -> None:
        """Handle a message once the rules have computed a step; the other seats do not wait."""

        async def take() -> None:
            await self._server.settled(key)
            await self._take(message)

        task = asyncio.create_task(take())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def _decode(self, frame: Any) -> list[SocketMessage]:
        text, data = frame.get("text"), frame.get("bytes")
        self._binary = data is not None
        try:
            if len(text if data is None else data) > MOST_BYTES:
                raise RequestRefused(f"a frame has at most {MOST_BYTES} bytes")
            if data is not None:
                read = _msgpack.decode(data)
            else:
                read = _json.decode(text)
                refuse_repeated(text)
        except Exception as error:
            self._refuse(error, 0)
            return []
        return read if isinstance(read, list) else [read]

    def _refuse(self, error: Exception, handle: int) -> None:
        failure, status = refusal(error)
        if status == 500:
            raise error
        self._server.refuse(error)
        failure.handle = handle
        self._said.append(failure)
        self._ready.set()

    async def _handle(self, message: SocketMessage) -> None:
        if message.do in ("sit", "watch"):
            await self._find_seat(message)
            return
        if self._relay.has(message.handle):
            await self._relay.send(message)
            return
        sitting = self._sitting.get(message.handle)
        if sitting is None:
            raise RequestRefused(
                f"nobody sits here as {message.handle}; send 'sit' with a token first"
            )
        if sitting.match.stepping and message.do in ("move", "try", "resign", "reclaim"):
            self._postpone(message, sitting.key)
        elif message.do == "move":
            if message.move is None:
                raise RequestRefused("a 'move' has a move: an action's number or a text", 400)
            counted = self._server.take(sitting.key, message.move)
            sitting.asked = -1
            if not counted:
                self._tell(sitting, asked=True)
        elif message.do == "try":
            if message.move is None or message.move.text is None:
                raise RequestRefused("'try' has a move with a text", 400)
            await self._server.try_move(sitting.key, message.move)
            sitting.asked = -1
            self._tell(sitting, asked=True)
        elif message.do == "look":
            sitting.since, sitting.show = message.since, message.show or sitting.show
            self._tell(sitting, asked=True)
        elif message.do == "resign":
            await self._server.resign(sitting.key)
            self._tell(sitting, asked=True)
        elif message.do == "reclaim":
            await self._server.reclaim(sitting.key)
            self._tell(sitting, asked=True)
        elif message.do == "leave":
            del self._sitting[message.handle]
            if sitting.leave:
                sitting.leave()
        else:
            raise RequestRefused(
                "do is sit, watch, move, try, look, resign, reclaim or leave, not "
                f"{message.do[:40]!r}",
                400,
            )

    async def _find_seat(self, message: SocketMessage) -> None:
        """Sit down; waits until a match is taken over, or its database has started again."""
        loop = asyncio.get_running_loop()
        until = loop.time() + TAKEN_OVER
        while True:
            try:
                await self._sit_down(message)
            except (OSError, StoreError) as error:
                late = loop.time() > until
                if late and isinstance(error, OSError):
                    gone = "the server of this match is gone; try again"
                    raise RequestRefused(gone, 503) from None
                if late:
                    raise
                await asyncio.sleep(0.25)
            else:
                return

    async def _sit_down(self, message: SocketMessage) -> None:
        """Sit down here, or where the match is played; raises `OSError` if that server is gone."""
        try:
            if message.do == "sit":
                key = self._server.seat(message.token)
            else:
                key = self._server.watcher(message.match, message.token)
            self._sit(message, key)
        except Elsewhere as error:
            if self._hop:
                raise
            await self._relay.sit(message, error.address)

    def _pass_on(self, said: Any) -> None:
        """Tell the client what another server says to one of its seats."""
        self._said.append(said)
        self._ready.set()

    async def _gone(self) -> None:
        """End the connection; its client connects again, and finds everything."""
        with contextlib.suppress(OSError, RuntimeError):  # it is closed
            await self._close(1012, "the match is played by another server now")

    async def _close(self, code: int, reason: str) -> None:
        await self._send({"type": "websocket.close", "code": code, "reason": reason})

    def _sit(self, message: SocketMessage, key: SeatKey) -> None:
        if len(self._sitting) >= MOST_SEATS and message.handle not in self._sitting:
            raise RequestRefused(f"at most {MOST_SEATS} seats on one connection")
        before = self._sitting.get(message.handle)
        if before is not None and before.leave:
            before.leave()
        live = message.live or key.seat == WATCHER
        match = self._server.match(key.match)
        sitting = Sitting(key, match, message.handle, message.since, message.show, live)
        sitting.leave = self._server.follow(key, lambda: self._changed(sitting))
        self._sitting[message.handle] = sitting
        self._tell(sitting, asked=True)

    def _changed(self, sitting: Sitting) -> None:
        if sitting.match.lost:
            self._lost = asyncio.create_task(self._gone())
            return
        if sitting.live or self._is_news(sitting):
            self._tell(sitting, asked=False)

    def _is_news(self, sitting: Sitting) -> bool:
        match, seat = sitting.match, sitting.key.seat
        if match.over:
            return not sitting.ended
        if seat in match.leaving.away:
            return not sitting.away
        return match.answers[seat] != sitting.asked and match.asks(seat)

    def _tell(self, sitting: Sitting, *, asked: bool) -> None:
        self._due[sitting.handle] = asked or self._due.get(sitting.handle, False)
        self._ready.set()

    async def _write(self) -> None:
        """Send due views; a connection whose views cannot be made is closed."""
        try:
            await self._send_views()
        except (Elsewhere, OSError):
            await self._gone()
        except Exception as error:
            log.exception("a connection ends: %s", cause(error))
            await self._gone()

    async def _send_views(self) -> None:
        """Send due views; changes while a slow client reads are merged into one view."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            due, self._due = self._due, {}
            said: list[Any] = list(self._said)
            self._said.clear()
            for handle, asked in due.items():
                sitting = self._sitting.get(handle)
                if sitting is not None and (asked or sitting.live or self._is_news(sitting)):
                    said.append(self._view(sitting))
            if not said:
                continue
            told = said[0] if len(said) == 1 else said
            if self._binary:
                frame: dict[str, Any] = {"bytes": msgspec.msgpack.encode(told)}
            else:
                frame = {"text": msgspec.json.encode(told).decode()}
            await self._send({"type": "websocket.send", **frame})

    def _view(self, sitting: Sitting) -> Any:
        rules = sitting.since == 0 and "no-text" not in sitting.show
        view = self._server.look(sitting.key, sitting.since, sitting.show, with_rules=rules)
        view.handle = sitting.handle
        sitting.since = view.cursor
        if view.your_turn:
            sitting.asked = view.number
        sitting.away = bool(view.away)
        sitting.ended = view.status == "over"
        return view
