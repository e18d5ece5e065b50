"""Connections that send nothing, send slowly, or are too many, are closed.

uvicorn bounds how long a connection may idle between two requests, and nothing else: whoever opened
connections and sent their headers byte by byte held a descriptor each until there were none left.
Here a request's headers have `HEADER_SECONDS` to arrive and its body `BODY_SECONDS`, whatever pace
it is sent at; what is sent of it besides its body is at most `MOST_BYTES`; beyond `most_waiting`
connections without a whole request the oldest of them is closed for a new one; and an address other
than this machine's has `per_address` connections. Those of a trusted proxy are not counted here:
`proxies.PerAddress` counts its clients.

A WebSocket whose client does not read is not read from either, so that no answers, and no answers
to pings, pile up for it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import sys
from collections.abc import Sequence
from typing import Any, Literal, Protocol, cast

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.importer import import_from_string
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import apply_mask  # type: ignore[attr-defined]
from websockets.protocol import State
from websockets.streams import StreamReader

DIRECT = "palestra.direct"  # the extension of ASGI under which a scope has its `DirectSocket`
HEAD = 6  # bytes before the payload of a short frame: what it is, its length, its mask
WHOLE: dict[int, Literal["text", "bytes"]] = {
    0x81: "text",
    0x82: "bytes",
}  # first byte, by RFC 6455
BETWEEN_FRAMES = StreamReader.at_eof.__code__  # the parser has nothing of a next frame
HEADER_SECONDS, BODY_SECONDS = 10.0, 60.0
MOST_BYTES = 100_000  # of a request besides its body: its address, headers, and marks of chunks
MOST_PIPELINED = 64  # requests that wait on one connection until those before are answered
MOST_WAITING = 4096
SPARED = 4  # of the process's descriptors one in so many may wait for a request

per_address = 1000  # connections of one address at once
trusted: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = ()  # networks of proxies


def set_bounds(most: int, proxies: Sequence[str]) -> None:
    """Set how many connections an address has, and the addresses and networks of proxies."""
    global per_address, trusted
    per_address, trusted = most, tuple(map(ipaddress.ip_network, proxies))


def most_waiting() -> int:
    """How many connections may be open without a whole request on them."""
    if sys.platform == "win32":
        return MOST_WAITING
    import resource

    open_files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    none = open_files == resource.RLIM_INFINITY
    return MOST_WAITING if none else min(MOST_WAITING, max(16, open_files // SPARED))


class _Counted:
    """A protocol of uvicorn's that turns connections away from an address that has too many."""

    connections: set[Any]

    def connection_made(self, transport: Any) -> None:
        address = _address(transport)
        if address and _crowded(address, self.connections):
            transport.abort()
        super().connection_made(transport)  # type: ignore[misc]


class _Bounded(_Counted):
    """A protocol for HTTP that waits for a request only so long.

    Whatever is sent is first read by uvicorn; then the request is whole, or what is missing of it
    is awaited until its time is up.
    """

    cycle: Any
    transport: Any
    loop: asyncio.AbstractEventLoop
    _awaits = ""  # "headers" or "body", or nothing while a request is answered
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *, server_state: Any, **more: Any) -> None:
        super().__init__(server_state=server_state, **more)  # type: ignore[call-arg]
        # of the server, in order of arrival
        self.waiting: dict[Any, None] = vars(server_state).setdefault("waiting", {})

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await("headers")
        if len(self.waiting) > most_waiting():
            next(iter(self.waiting)).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)  # type: ignore[misc]
        if self not in self.connections:  # it was upgraded to a socket, or closed
            self._await("")
        elif self.cycle is None or self.cycle.response_complete:
            self._await("headers")
        else:
            self._await("body" if self.cycle.more_body else "")

    def connection_lost(self, error: Exception | None) -> None:
        self._await("")
        super().connection_lost(error)  # type: ignore[misc]

    def _await(self, what: str) -> None:
        """Start the clock of what is missing, unless it runs already."""
        if what == self._awaits:
            return
        self._awaits = what
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.waiting.pop(self, None)
        if what:
            self.waiting[self] = None
            seconds = HEADER_SECONDS if what == "headers" else BODY_SECONDS
            self._timer = self.loop.call_later(seconds, self.transport.abort)


def _address(transport: Any) -> str:
    """The address at the other end; empty for this machine's own, a proxy's, and none at all."""
    peer = transport.get_extra_info("peername")
    if not isinstance(peer, tuple):
        return ""
    try:
        address = ipaddress.ip_address(peer[0].partition("%")[0])
    except ValueError:
        return ""
    exempt = address.is_loopback or any(address in network for network in trusted)
    return "" if exempt else peer[0]


def _crowded(address: str, connections: set[Any]) -> bool:
    theirs = sum((one.client or ("",))[0] == address for one in connections)
    return theirs >= per_address


_HTTP: type[Any] = import_from_string(HTTP_PROTOCOLS["auto"])


class _Measured(_Bounded, _HTTP):
    """A protocol that closes connections on which more is sent than a request may have.

    httptools keeps headers and requests that wait without any bound; h11 has its own.
    """

    _beside_bodies = 0  # bytes of the request that is not whole yet

    def data_received(self, data: bytes) -> None:
        self._beside_bodies += len(data)
        super().data_received(data)
        if self._beside_bodies > MOST_BYTES or len(self.pipeline) > MOST_PIPELINED:
            self.pipeline.clear()
            self.transport.abort()

    def on_body(self, body: bytes) -> None:
        self._beside_bodies -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._beside_bodies = 0
        super().on_message_complete()


class BoundedHttp(_Measured if hasattr(_HTTP, "on_body") else _Bounded, _HTTP):  # type: ignore[misc]
    """uvicorn's protocol for HTTP, within these bounds."""


class Listener(Protocol):
    """What a `DirectSocket` hands its messages to."""

    def received(self, message: str | bytes) -> None:
        """Take a whole message: a text, or the bytes of binary frames."""

    def writable(self) -> None:
        """The client reads again, after it had not."""


class DirectSocket(_Counted, WebSocketsSansIOProtocol):
    """uvicorn's protocol for sockets, counted by address, with a way past ASGI's queue and tasks.

    An application that accepted a socket may `listen` for its messages and `tell` its answers; a
    message is then handed over as it is read. That halves what a socket costs. Handshake, frames,
    pings and closing stay uvicorn's, and other applications receive and send as ever.
    """

    _listener: Listener | None = None
    _held = False
    _parsing = True  # whether the parser may have a part of a frame

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if not self.close_sent:  # the handshake was in order
            cast(dict[str, Any], self.scope["extensions"])[DIRECT] = self

    def listen(self, listener: Listener) -> None:
        """From now on, hand messages to `listener`; what waits in ASGI's queue comes first."""
        self._listener = listener

    def tell(self, payload: bytes, *, binary: bool) -> None:
        """Send a message at once; one to a socket that is closed is dropped.

        A frame that no extension changes is written here: the library takes five times as long.
        """
        if self.close_sent or self.transport.is_closing() or self.conn.state is not State.OPEN:
            return
        if self.conn.extensions:
            (self.conn.send_binary if binary else self.conn.send_text)(payload)
            self.transport.write(b"".join(self.conn.data_to_send()))
        else:
            self.transport.write(_frame(payload, 0x82 if binary else 0x81))

    def hold(self, held: bool) -> None:
        """Whether the listener is behind, and wants no further messages for now."""
        self._held = held
        self._read_or_wait()

    @property
    def blocked(self) -> bool:
        """Whether the client does not read what it is sent."""
        return not self.writable.is_set()

    def data_received(self, data: bytes) -> None:
        """Read one short message past the parser, which takes three times as long; else ask it."""
        if (
            len(data) >= HEAD
            and data[0] in WHOLE
            and 0x80 <= data[1] < 0xFE  # masked, and its length is not written elsewhere
            and len(data) == (data[1] & 0x7F) + HEAD
            and self._is_between_messages()
        ):
            self.curr_msg_data_type = WHOLE[data[0]]
            self.frames = [apply_mask(data[HEAD:], data[2:HEAD])]
            self.send_receive_event_to_app()
            return
        self._parsing = True
        super().data_received(data)

    def _is_between_messages(self) -> bool:
        if self._listener is None or self.frames or self.conn.state is not State.OPEN:
            return False
        if self._parsing:
            self._parsing = not self._parser_waits()
        return not self._parsing

    def _parser_waits(self) -> bool:
        """Whether the parser has nothing of a next frame."""
        waiting: Any = self.conn.parser  # generators within each other: what the parser waits for
        while waiting.gi_yieldfrom is not None:
            waiting = waiting.gi_yieldfrom
        return waiting.gi_code is BETWEEN_FRAMES

    def send_receive_event_to_app(self) -> None:
        if self._listener is None or self.close_sent or not self.queue.empty():
            super().send_receive_event_to_app()
            return
        data = b"".join(self.frames)
        try:
            message = data.decode() if self.curr_msg_data_type == "text" else data
        except UnicodeDecodeError:
            super().send_receive_event_to_app()  # closes the socket
            return
        self.frames = []
        self._listener.received(message)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._read_or_wait()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._read_or_wait()
        if self._listener is not None:
            self._listener.writable()

    def _read_or_wait(self) -> None:
        if self.transport.is_closing():
            return
        if self._held or self.blocked:
            self.transport.pause_reading()
        elif not self.read_paused:  # by uvicorn, whose queue is not empty
            self.transport.resume_reading()


def _frame(payload: bytes, first: int) -> bytes:
    """A whole message of a server as RFC 6455 has it; `first` says text or binary."""
    size = len(payload)
    if size < 126:
        return bytes((first, size)) + payload
    if size < 65536:
        return bytes((first, 126, size >> 8, size & 0xFF)) + payload
    return bytes((first, 127)) + size.to_bytes(8, "big") + payload


# what every server of ours tells uvicorn
BOUNDED: dict[str, Any] = {"http": BoundedHttp, "ws": DirectSocket}
SETTINGS: dict[str, Any] = {
    **BOUNDED,
    "log_level": "warning",
    "log_config": None,  # its own would close the handlers that the process has
    "access_log": False,
    "proxy_headers": False,  # the application reads them, of the proxies that the operator names
    "timeout_graceful_shutdown": 3,  # seconds; requests that wait for a turn would last a minute
}
