"""Connections that never become requests, and those that do but slowly."""

import asyncio
import socket
import time
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit

import httpx
import pytest
from palestra_server import connections
from palestra_server.client import Server
from serving import serving

SECONDS = 0.6  # for headers and bodies here
HEAD = b"POST /matches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", SECONDS)
    monkeypatch.setattr(connections, "BODY_SECONDS", SECONDS)
    with serving(tmp_path) as (url, _):
        yield url


def connected(url):
    address = urlsplit(url)
    return socket.create_connection((address.hostname, address.port), timeout=20)


def is_closed(connection, drip=b""):
    """Whether the other side ends a connection, on which a byte is sent now and then."""
    until = time.monotonic() + 20
    connection.settimeout(SECONDS / 6)
    while time.monotonic() < until:
        try:
            if drip:
                connection.sendall(drip)
            if not connection.recv(1000):
                return True
        except TimeoutError:
            pass
        except OSError:
            return True
    return False


SLOW = {
    "nothing": (b"", b""),
    "headers": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"x"),
    "body": (HEAD, b" "),
    "second request": (b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /", b"x"),
}


@pytest.mark.parametrize("kind", SLOW)
def test_a_request_that_does_not_come_is_not_waited_for(server, kind):
    sent, drip = SLOW[kind]
    with connected(server) as slow:
        slow.sendall(sent)
        assert is_closed(slow, drip)
    assert httpx.get(f"{server}/matches").status_code == 200


def test_the_oldest_of_too_many_waiting_connections_is_closed(server, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 1000.0)
    monkeypatch.setattr(connections, "most_waiting", lambda: 20)
    with ExitStack() as opened:
        slow = [opened.enter_context(connected(server)) for _ in range(100)]
        for _ in range(3):
            assert httpx.get(f"{server}/matches").status_code == 200
        assert is_closed(slow[0])
        assert is_closed(slow[50])


def test_an_answer_and_a_socket_may_take_their_time(server):
    client = Server(server)
    seat = client.join(client.create("games/TicTacToe-v0", ["open", "random"]))
    other = client.take_seat(client.create("games/TicTacToe-v0", ["open", "open"]), 1)
    waits = httpx.get(
        f"{server}/seat",
        params={"wait": 3 * SECONDS},
        headers={"Authorization": f"Bearer {other}"},
        timeout=20,
    )
    assert waits.status_code == 200
    opened_before = seat._socket
    seat.turn(20)
    seat.move(0)
    assert seat._socket is opened_before  # the connection was not cut meanwhile
    seat.close(), client.close()


def test_one_address_has_so_many_connections(server, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 1000.0)
    monkeypatch.setattr(connections, "per_address", 5)
    with connected(server):  # this machine's own are not counted
        monkeypatch.setattr(connections, "_address", lambda transport: "127.0.0.1")
        with ExitStack() as opened:
            for _ in range(4):
                opened.enter_context(connected(server))
            sixth = opened.enter_context(connected(server))
            assert is_closed(sixth)
        until = time.monotonic() + 20
        while time.monotonic() < until:  # until those that left are gone
            with suppress(httpx.HTTPError):
                assert httpx.get(f"{server}/matches").status_code == 200
                break


@pytest.mark.parametrize(
    ("peer", "counted"),
    [
        (("127.0.0.1", 5), ""),
        (("::1", 5, 0, 0), ""),
        (("fe80::1%eth0", 5, 0, 2), "fe80::1%eth0"),
        (("192.0.2.7", 5), "192.0.2.7"),
        ("/run/socket", ""),
        (None, ""),
    ],
)
def test_which_addresses_are_counted(peer, counted):
    class Transport(asyncio.Transport):
        def get_extra_info(self, name, default=None):
            return peer

    assert connections._address(Transport()) == counted


ENDLESS = {
    "headers": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"X: a\r\n" * 10_000),
    "one header": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"a" * 50_000),
    "the address": (b"GET /", b"a" * 50_000),
    "marks of chunks": (
        b"POST /matches HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n5;",
        b"a" * 50_000,
    ),
    "requests": (b"", b"GET /matches HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 5000),
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_request_without_end_is_cut_off(tmp_path, kind):
    """Nobody reads the answers, as of a client that only wants memory."""
    begin, more = ENDLESS[kind]
    with serving(tmp_path) as (url, _):
        with connected(url) as flood:
            flood.sendall(begin)
            with pytest.raises(ConnectionError):
                flood.sendall(more * 400)  # 20 MB and more
        assert httpx.get(f"{url}/health").status_code == 200


def test_long_bodies_in_small_chunks_and_some_requests_at_once_are_answered(tmp_path):
    body = b'{"env": "games/TicTacToe-v0"' + b" " * 300_000 + b"}"
    chunks = (body[at : at + 1000] for at in range(0, len(body), 1000))
    asked = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with serving(tmp_path) as (url, _):
        headers = {"Content-Type": "application/json"}
        assert httpx.post(f"{url}/matches", content=chunks, headers=headers).status_code == 201
        with connected(url) as several:
            several.sendall(
                asked * 19 + asked.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
            )
            said = b"".join(iter(lambda: several.recv(65_536), b""))
        assert said.count(b'{"status":"ok"}') == 20
