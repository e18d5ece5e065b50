"""Sockets whose messages go straight to a match: any frames, faults, floods and slow clients."""

import asyncio
import random
import socket
import struct
import time
from contextlib import closing, suppress
from urllib.parse import urlsplit

import msgspec
import pytest
import uvicorn
from palestra_server import connections
from palestra_server.client import Server
from palestra_server.connections import DIRECT, DirectSocket
from palestra_server.limits import Limits
from serving import serving
from uvicorn.server import ServerState
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect
from websockets.uri import parse_uri

MOST_HELD = 64 << 20  # bytes that systems may take for one connection, on both sides of it


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self):
        super().__init__()
        self.written, self.reads, self.closed = bytearray(), True, False

    def write(self, data):
        self.written += data

    def pause_reading(self):
        self.reads = False

    def resume_reading(self):
        self.reads = True

    def close(self):
        self.closed = True

    def is_closing(self):
        return self.closed


class Kept:
    """A listener that keeps what it hears."""

    def __init__(self):
        self.heard, self.woken = [], 0

    def received(self, message):
        self.heard.append(message)

    def writable(self):
        self.woken += 1


async def opened(extensions=()):
    """A protocol on which an application listens, its wire, what it hears, and a client."""
    heard = Kept()

    async def app(scope, receive, send):
        await receive()
        await send({"type": "websocket.accept"})
        scope["extensions"][DIRECT].listen(heard)
        assert (await receive())["type"] == "websocket.disconnect"

    config = uvicorn.Config(app, log_level="error", ws_max_size=200_000)
    config.load()
    protocol, wire = DirectSocket(config, ServerState(), {}), Wire()
    protocol.connection_made(wire)
    client = ClientProtocol(parse_uri("ws://127.0.0.1/ws"), extensions=extensions or None)
    client.send_request(client.connect())
    protocol.data_received(b"".join(client.data_to_send()))
    while not wire.written:
        await asyncio.sleep(0)
    client.receive_data(bytes(wire.written))
    client.events_received()
    assert client.handshake_exc is None, client.handshake_exc
    wire.written.clear()
    return protocol, wire, heard, client


def send(client, message, rng):
    """Send a message by the library, in up to three fragments with pings between them."""
    text = isinstance(message, str)
    data = message.encode() if text else message
    places = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(3)))
    parts = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        if number:
            client.send_continuation(part, fin=last)
        else:
            (client.send_text if text else client.send_binary)(part, fin=last)
        if rng.random() < 0.2:
            client.send_ping(rng.randbytes(rng.randrange(126)))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_messages_arrive_as_a_library_sends_them(seed, packed):
    rng = random.Random(seed)
    sizes = [0, 1, 5, 124, 125, 126, 127, 300, 65_535, 65_536, 99_999]
    messages = []
    for _ in range(60):
        size = rng.choice(sizes if rng.random() < 0.3 else sizes[:6])
        text = "".join(rng.choices("aé€😀\n", k=size // 4))
        messages.append(text if rng.random() < 0.5 else rng.randbytes(size))

    async def play():
        extensions = [ClientPerMessageDeflateFactory()] if packed else []
        protocol, _, heard, client = await opened(extensions)
        assert bool(protocol.conn.extensions) == packed
        for message in messages:
            send(client, message, rng)
            if rng.random() < 0.6:
                data = b"".join(client.data_to_send())
                cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice([0, 0, 1, 9])))
                for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True):
                    if data[a:b]:
                        protocol.data_received(data[a:b])
        protocol.data_received(b"".join(client.data_to_send()) or frame(0x89, b""))
        assert protocol.conn.parser_exc is None, repr(protocol.conn.parser_exc)
        return heard.heard

    assert asyncio.run(play()) == messages


def test_a_short_message_is_not_parsed(monkeypatch):
    async def play():
        protocol, _, heard, _ = await opened()
        first, second = frame(0x82, b"first" * 30), frame(0x81, b"second")
        protocol.data_received(first[:7])
        protocol.data_received(first[7:])
        monkeypatch.setattr(protocol.conn, "receive_data", None)
        for _ in range(3):
            protocol.data_received(second)
        return heard.heard

    assert asyncio.run(play()) == [b"first" * 30, *["second"] * 3]


@pytest.mark.parametrize("packed", [False, True])
def test_answers_arrive_as_a_library_reads_them(packed):
    answers = [b"x" * size for size in (0, 1, 125, 126, 127, 65_535, 65_536, 70_000)]

    async def play():
        extensions = [ClientPerMessageDeflateFactory()] if packed else []
        protocol, wire, _, client = await opened(extensions)
        assert bool(protocol.conn.extensions) == packed
        for answer in answers:
            protocol.tell(answer, binary=True)
            protocol.tell(answer, binary=False)
        client.receive_data(bytes(wire.written))
        return [(bytes(e.data), e.opcode) for e in client.events_received()]

    kinds = (Opcode.BINARY, Opcode.TEXT)
    assert asyncio.run(play()) == [(answer, kind) for answer in answers for kind in kinds]


def test_a_client_that_does_not_read_is_not_read():
    async def play():
        protocol, wire, heard, _ = await opened()
        states = []
        for step in (
            protocol.pause_writing,
            lambda: protocol.hold(True),
            protocol.resume_writing,
            lambda: protocol.hold(False),
        ):
            step()
            states.append(wire.reads)
        assert heard.woken == 1
        return states

    assert asyncio.run(play()) == [False, False, False, True]


def frame(head, payload, *, masked=True, mask=b"\1\2\3\4"):
    """A frame, as RFC 6455 has it in section 5.2."""
    size, bit = len(payload), 0x80 if masked else 0
    if size < 126:
        told = bytes([head, bit | size])
    elif size < 65_536:
        told = struct.pack("!BBH", head, bit | 126, size)
    else:
        told = struct.pack("!BBQ", head, bit | 127, size)
    if not masked:
        return told + payload
    return told + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


FAULTS = {
    "not masked": (frame(0x82, b"ab", masked=False), 1002),
    "a reserved bit": (frame(0xC2, b"ab"), 1002),
    "another reserved bit": (frame(0xA1, b"ab"), 1002),
    "an unknown kind": (frame(0x83, b"ab"), 1002),
    "a continuation of nothing": (frame(0x80, b"ab"), 1002),
    "a message within another": (frame(0x02, b"ab") + frame(0x82, b"ab"), 1002),
    "a ping in fragments": (frame(0x09, b"ab"), 1002),
    "a long ping": (frame(0x89, b"a" * 126), 1002),
    "a text that is none": (frame(0x81, b"\xff\xfe"), 1007),
    "too large": (b"\x82\xff" + (1 << 40).to_bytes(8, "big") + bytes(4), 1009),
    "a close of one byte": (frame(0x88, b"a"), 1002),
}


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_frame_closes_the_socket_with_its_code(fault, before):
    sent, code = FAULTS[fault]

    async def play():
        protocol, wire, heard, client = await opened()
        for _ in range(before):
            protocol.data_received(frame(0x82, b"fine"))
        cut = len(sent) // 2 if "within" in fault else 0  # so that the second comes on its own
        for part in filter(None, (sent[: cut and cut], sent[cut:])):
            protocol.data_received(part)
        protocol.data_received(frame(0x82, b"late"))
        assert heard.heard == [b"fine"] * before
        assert wire.closed
        client.receive_data(bytes(wire.written))
        return client.close_rcvd.code

    assert asyncio.run(play()) == code


def json_text(message):
    return msgspec.json.encode(message).decode()


def raw_socket(url):
    """A connection that has become a WebSocket."""
    address = urlsplit(url)
    raw = socket.socket()
    raw.settimeout(20)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)  # so that it is soon full
    raw.connect((address.hostname, address.port))
    raw.sendall(
        b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert b" 101 " in raw.recv(65536)
    return raw


FLOODS = {
    "pings": frame(0x89, b"p" * 125),
    "seats nobody has": frame(0x81, msgspec.json.encode([{"do": "look", "handle": 7}] * 400)),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_of_a_client_that_does_not_read_stalls(tmp_path, kind):
    limits = Limits(messages=10**9)
    with serving(tmp_path, limits=limits) as (url, _), closing(raw_socket(url)) as raw:
        raw.settimeout(3)
        flood, taken = FLOODS[kind] * (1 + 100_000 // len(FLOODS[kind])), 0
        with suppress(TimeoutError):
            while taken < MOST_HELD:
                taken += raw.send(flood)
        assert taken < MOST_HELD
        with connect(url.replace("http", "ws") + "/ws") as other:  # the others play on
            other.send(json_text({"do": "sit", "token": tokens_of(url, 1)[0]}))
            assert listed(other.recv(20))[0]["status"] == "waiting"
        raw.settimeout(20)
        assert len(raw.recv(1 << 20)) > 0


@pytest.fixture(params=["direct", "by ASGI"])
def served(request, tmp_path, monkeypatch):
    """A server under our protocol for sockets, and under uvicorn's own."""
    if request.param == "by ASGI":
        import serving as own

        monkeypatch.setattr(own, "SETTINGS", connections.SETTINGS | {"ws": "auto"})
    with serving(tmp_path, limits=Limits(messages=500)) as (url, server):
        yield url, server


def tokens_of(url, count, seats=1):
    """Tokens of seats of as many matches."""
    with closing(Server(url)) as client:
        matches = [client.create("games/TicTacToe-v0", ["open"] * 2) for _ in range(count)]
        return [client.take_seat(match, seat) for match in matches for seat in range(seats)]


def listed(frame):
    told = (msgspec.json if isinstance(frame, str) else msgspec.msgpack).decode(frame)
    return told if isinstance(told, list) else [told]


@pytest.mark.parametrize("binary", [False, True])
def test_messages_that_do_not_wait_for_answers_are_taken_in_order(served, binary):
    url, server = served
    seats = tokens_of(url, 1, seats=2)
    write = msgspec.msgpack.encode if binary else json_text
    with connect(url.replace("http", "ws") + "/ws") as play:
        play.send(write({"do": "move", "handle": 0, "move": {"action": 4}}))  # nobody sits yet
        for handle, token in enumerate(seats):
            play.send(write({"do": "sit", "handle": handle, "token": token}))
        moves = [0, 3, 1, 4, 2]  # the first row is the first player's
        for number, move in enumerate(moves):
            play.send(write({"do": "move", "handle": number % 2, "move": {"action": move}}))
        play.send(write([{"do": "dance", "handle": 0}, {"do": "look", "handle": 1}]))
        errors, last = [], {}
        while len(errors) < 2 or [one["status"] for one in last.values()] != ["over"] * 2:
            frame = play.recv(20)
            assert isinstance(frame, bytes) == binary
            for told in listed(frame):
                if "status" in told:
                    last[told.get("handle", 0)] = told
                else:
                    errors.append(told["error"])
    assert "nobody sits here as 0" in errors[0]
    assert "dance" in errors[1]
    assert last[0]["score"] == 1.0
    match = server.seat(seats[0]).match
    assert len(server.store.load(match).answers) == len(moves)


def send_on(play, message):
    until = time.monotonic() + 20
    while time.monotonic() < until:
        play.send(message)


def test_too_many_messages_close_the_socket(served):
    url, server = served
    look = json_text([{"do": "look", "handle": 1}] * 100)
    with connect(url.replace("http", "ws") + "/ws") as play:
        with pytest.raises(ConnectionClosed) as closed:
            send_on(play, look)
        assert closed.value.rcvd.code == 1008
        assert "500 messages a second" in closed.value.rcvd.reason
    assert server.metrics.throttled == 1
    deadline = time.monotonic() + 20
    while server.metrics.sockets and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.metrics.sockets == 0


def test_views_that_are_due_together_share_a_frame(served):
    url, _ = served
    sits = [
        {"do": "sit", "handle": handle, "token": token}
        for handle, token in enumerate(tokens_of(url, 7))
    ]
    with connect(url.replace("http", "ws") + "/ws") as play:
        play.send(msgspec.msgpack.encode(sits))
        seen = []
        while len(seen) < len(sits):
            seen += listed(play.recv(20))
        play.send(msgspec.msgpack.encode([{"do": "look", "handle": s["handle"]} for s in sits]))
        assert sorted(v.get("handle", 0) for v in listed(play.recv(20))) == list(range(7))


def test_a_fault_of_ours_ends_one_connection_alone(served, monkeypatch, caplog):
    url, server = served
    good, bad = tokens_of(url, 2)
    look = server.look
    key = server.seat(bad)

    def faulty(asked, *more, **named):
        if asked == key:
            raise ZeroDivisionError("a fault of ours")
        return look(asked, *more, **named)

    monkeypatch.setattr(server, "look", faulty)
    address = url.replace("http", "ws") + "/ws"
    with connect(address) as other, connect(address) as play:
        play.send(json_text({"do": "sit", "token": bad}))
        with pytest.raises(ConnectionClosed) as closed:
            play.recv(20)
        assert closed.value.rcvd.code == 1012
        other.send(json_text({"do": "sit", "token": good}))
        assert listed(other.recv(20))[0]["status"] == "waiting"
    assert "a fault of ours" in caplog.text


def test_a_client_frame_of_the_library_is_ours():
    made = Frame(Opcode.BINARY, b"ab").serialize(mask=True)
    assert frame(0x82, b"ab", mask=made[2:6]) == made


def test_views_that_take_long_together_come_in_several_frames(served):
    """So that others can move between them; each is sent once."""
    url, server = served
    server.limits.messages = 2000
    with closing(Server(url)) as client:
        match = client.create("games/ConnectFour-v0", public=True)
    asked = {"do": "watch", "match": str(match), "show": ["picture", "table"]}
    with connect(url.replace("http", "ws") + "/ws", max_size=None) as play:
        play.send(json_text([{**asked, "handle": handle} for handle in range(1, 2001)]))
        frames = []
        while sum(map(len, frames)) < 2000:
            frames.append(listed(play.recv(20)))
    assert sorted(view["handle"] for frame in frames for view in frame) == list(range(1, 2001))
    assert len(frames) > 5
    assert all(view["picture"] for frame in frames for view in frame)
