"""A WebSocket: any number of seats on one connection, answers in, views out.

Where the process is served by `connections.DirectSocket`, messages come straight from the protocol,
and views go straight to it; elsewhere it speaks ASGI, by a task that reads and one that writes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from palestra.kernel.errors import cause
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from palestra_server.connections import DIRECT, DirectSocket
from palestra_server.match import Match
from palestra_server.messages import SocketMessage
from palestra_server.peers import HOP, TAKEN_OVER, Elsewhere, forwarded
from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused, check_parts, refuse_repeated
from palestra_server.relay import Relay
from palestra_server.seats import SeatKey
from palestra_server.server import MatchServer
from palestra_server.store import StoreError
from palestra_server.table import WATCHER

log = logging.getLogger("palestra.server")
MOST_SEATS = 4_096  # of one connection
LONGEST_FRAME = 0.01  # seconds that the views of one frame take, so that others can move
MOST_BYTES = 1_000_000  # of one frame
GONE = "the match is played by another server now"
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
    stage: Any = None  # of a live sitting: what its client was shown last
    leave: Callable[[], None] | None = None


class SocketSession:
    """Serves one connection until it closes; its seats are kept, and can be reconnected to.

    A text frame is JSON, a binary frame msgpack; the answers are in the form of the last frame.
    Views that are ready together go out in one frame, as a list.
    """

    def __init__(self, server: MatchServer, scope: Scope, receive: Receive, send: Send) -> None:
        self._server, self._receive, self._send = server, receive, send
        self._direct: DirectSocket | None = scope.get("extensions", {}).get(DIRECT)
        self._loop = asyncio.get_running_loop()
        self._sitting: dict[int, Sitting] = {}
        self._due: dict[int, bool] = {}  # handles with something to say; whether asked for
        self._said: list[Any] = []
        told = forwarded(scope)
        self._relay = Relay(self._pass_on, self._sit_down, self._gone, client=told)
        self._hop = HOP in Headers(scope=scope)  # whether another server speaks here for its client
        self._ready = asyncio.Event()
        self._scheduled = False  # whether views will be sent in a moment
        self._closing: asyncio.Task[None] | None = None
        self._behind: deque[SocketMessage] = deque()  # messages that wait for one that takes longer
        self._catching_up: asyncio.Task[None] | None = None
        self._later: set[asyncio.Task[None]] = set()
        self._second, self._taken = 0, 0  # messages of this second
        self._binary = False

    async def serve(self) -> None:
        await self._receive()  # websocket.connect
        await self._send({"type": "websocket.accept"})
        if self._server.metrics.sockets >= self._server.limits.sockets:
            self._server.metrics.throttled += 1
            await self._close(1013, "too many connections; try later")
            return
        self._server.metrics.sockets += 1
        writer = None
        if self._direct is None:
            writer = asyncio.create_task(self._write())
        else:
            self._direct.listen(self)
        try:
            await self._read()
        finally:
            for task in (writer, self._catching_up, *self._later):
                if task is not None:
                    task.cancel()
            await self._relay.close()
            self._server.metrics.sockets -= 1
            for sitting in self._sitting.values():
                if sitting.leave:
                    sitting.leave()

    async def _read(self) -> None:
        """Take messages until the connection ends; those that come directly are not among them."""
        while True:
            frame = await self._receive()
            if frame["type"] == "websocket.disconnect":
                return
            data = frame.get("bytes")
            self.received(frame["text"] if data is None else data)
            if self._catching_up is not None:
                await self._catching_up
            if self._closing is not None:
                await self._closing
                return

    def received(self, message: str | bytes) -> None:
        """Act on a frame's messages in order, at once up to the first that takes longer."""
        if self._closing is not None:
            return
        messages = self._decode(message)
        now, most = int(self._loop.time()), self._server.limits.messages
        if now != self._second:
            self._second, self._taken = now, 0
        self._taken += len(messages)
        if self._taken > most:
            self._server.metrics.throttled += 1
            self._end(1008, f"at most {most} messages a second")
            return
        for each in messages:
            if self._behind or not self._take_at_once(each):
                self._behind.append(each)
        if self._behind and self._catching_up is None:
            self._catching_up = asyncio.create_task(self._catch_up())
        elif self._behind and self._direct is not None:
            self._direct.hold(True)

    async def _catch_up(self) -> None:
        """Act on messages one after the other.

        Reading goes on until a further frame has come: answers to pings have to be read, or the
        client counts as gone.
        """
        try:
            while self._behind:
                await self._take(self._behind[0])
                self._behind.popleft()
        except Exception as error:
            self._fail(error)
        finally:
            self._catching_up = None
            if self._direct is not None:
                self._direct.hold(False)

    def _take_at_once(self, message: SocketMessage) -> bool:
        """Take a move, or show what there is; False for a message that may have to wait."""
        sitting = self._sitting.get(message.handle)
        if sitting is None or message.do not in ("move", "look") or sitting.match.stepping:
            return False
        try:
            self._act(sitting, message)
        except Elsewhere:
            return False
        except Exception as error:
            try:
                self._refuse(error, message.handle)
            except Exception:
                self._fail(error)
        return True

    async def _take(self, message: SocketMessage) -> None:
        try:
            await self._handle(message)
        except Elsewhere:
            await self._gone()
        except Exception as error:
            self._refuse(error, message.handle)

    def _act(self, sitting: Sitting, message: SocketMessage) -> None:
        if message.do == "look":
            sitting.since, sitting.show = message.since, message.show or sitting.show
            self._tell(sitting, asked=True)
            return
        if message.move is None:
            raise RequestRefused("a 'move' has a move: an action's number or a text", 400)
        counted = self._server.take(sitting.key, message.move)
        sitting.asked = -1
        if not counted:
            self._tell(sitting, asked=True)

    def _postpone(self, message: SocketMessage, key: SeatKey) -> None:
        """Handle a message once the rules have computed a step; the other seats do not wait."""

        async def take() -> None:
            await self._server.settled(key)
            await self._take(message)

        task = asyncio.create_task(take())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def _decode(self, frame: str | bytes) -> list[SocketMessage]:
        self._binary = isinstance(frame, bytes)
        try:
            if len(frame) > MOST_BYTES:
                raise RequestRefused(f"a frame has at most {MOST_BYTES} bytes")
            if isinstance(frame, bytes):
                read = _msgpack.decode(frame)
            else:
                check_parts(frame)
                read = _json.decode(frame)
            refuse_repeated(frame, packed=self._binary)
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
        self._wake()

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
        elif message.do in ("move", "look"):
            self._act(sitting, message)
        elif message.do == "try":
            if message.move is None or message.move.text is None:
                raise RequestRefused("'try' has a move with a text", 400)
            await self._server.try_move(sitting.key, message.move)
            sitting.asked = -1
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
        self._wake()

    async def _gone(self) -> None:
        """End the connection; its client connects again, and finds everything."""
        await self._close(1012, GONE)

    def _fail(self, error: Exception) -> None:
        """End the connection after a fault of ours; its client connects again."""
        log.error("a connection ends: %s", cause(error), exc_info=error)
        self._end(1012, "the server failed; connect again")

    def _end(self, code: int, reason: str) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(code, reason))

    async def _close(self, code: int, reason: str) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # it is closed
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
            self._end(1012, GONE)
        else:
            self._tell(sitting, asked=False)

    def _is_news(self, sitting: Sitting) -> bool:
        match, seat = sitting.match, sitting.key.seat
        if sitting.live and match.stage(seat) != sitting.stage:
            return True
        if match.over:
            return not sitting.ended
        if seat in match.leaving.away:
            return not sitting.away
        return match.answers[seat] != sitting.asked and match.asks(seat)

    def _tell(self, sitting: Sitting, *, asked: bool) -> None:
        self._due[sitting.handle] = asked or self._due.get(sitting.handle, False)
        self._wake()

    def _wake(self) -> None:
        """Send what is due once all that changes in this moment has changed."""
        if self._direct is None:
            self._ready.set()
        elif not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._send_now)

    def writable(self) -> None:
        """Send what became due while the client did not read."""
        self._wake()

    def _send_now(self) -> None:
        self._scheduled = False
        assert self._direct is not None
        if not self._direct.blocked and (said := self._made()):
            self._direct.tell(said, binary=self._binary)

    async def _write(self) -> None:
        while True:
            await self._ready.wait()
            self._ready.clear()
            if said := self._made():
                told = {"bytes": said} if self._binary else {"text": said.decode()}
                try:
                    await self._send({"type": "websocket.send", **told})
                except (OSError, RuntimeError):  # it is closed
                    return
                await asyncio.sleep(0)  # others play between the frames of many views

    def _made(self) -> bytes:
        """What is due, in one frame; empty after a view that cannot be made, which ends it all.

        Changes while a slow client reads are merged into one view. Views that take long together
        come in several frames.
        """
        due, self._due = self._due, {}
        until = self._loop.time() + LONGEST_FRAME
        said, self._said = self._said, []
        try:
            for handle, asked in due.items():
                sitting = self._sitting.get(handle)
                if sitting is None or not (asked or self._is_news(sitting)):
                    continue
                if said and self._loop.time() > until:
                    self._tell(sitting, asked=asked)
                elif self._server.unwritten(sitting.key, self._wake):
                    self._due[handle] = asked or self._due.get(handle, False)
                else:
                    said.append(self._view(sitting))
            if not said:
                return b""
            told = said[0] if len(said) == 1 else said
            return msgspec.msgpack.encode(told) if self._binary else msgspec.json.encode(told)
        except (Elsewhere, OSError):
            self._end(1012, GONE)
        except Exception as error:
            self._fail(error)
        return b""

    def _view(self, sitting: Sitting) -> Any:
        rules = sitting.since == 0 and "no-text" not in sitting.show
        view = self._server.look(sitting.key, sitting.since, sitting.show, with_rules=rules)
        view.handle = sitting.handle
        sitting.since = view.cursor
        if view.your_turn:
            sitting.asked = view.number
        sitting.away = bool(view.away)
        sitting.ended = view.status == "over"
        if sitting.live:
            sitting.stage = sitting.match.stage(sitting.key.seat)
        return view
