"""Whose address counts behind a proxy, and that nobody chooses it for themselves."""

import asyncio
from contextlib import AsyncExitStack, ExitStack
from types import SimpleNamespace

import httpx
import pytest
from palestra.cli import main
from palestra_server import connections
from palestra_server.client import Server
from palestra_server.limits import Limits
from palestra_server.metrics import Metrics
from palestra_server.peers import _passed, forwarded
from palestra_server.proxies import TRUSTED, PerAddress
from serving import serving
from starlette.requests import Request
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

PROXY, INNER, CLIENT, OTHER = "192.0.2.1", "172.23.0.9", "203.0.113.7", "203.0.113.8"


async def status_while_two_are_open(peer, said):
    """What a request hears that comes while two of `CLIENT` through `PROXY` are answered."""
    release, both, inside = asyncio.Event(), asyncio.Event(), []

    async def app(scope, receive, send):
        if scope["path"] == "/slow":
            inside.append(scope)
            if len(inside) == 2:
                both.set()
            await release.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    refused = []
    server = SimpleNamespace(limits=Limits(per_address=2), metrics=Metrics(), refuse=refused.append)
    counted = ProxyHeadersMiddleware(PerAddress(app, server=server), [PROXY, "172.23.0.0/16"])
    async with AsyncExitStack() as opened:

        async def client(peer, said):
            transport = httpx.ASGITransport(counted, client=(peer, 4711))
            headers = [("X-Forwarded-For", part) for part in said]
            new = httpx.AsyncClient(transport=transport, headers=headers, base_url="http://it")
            return await opened.enter_async_context(new)

        first = await client(PROXY, [CLIENT])
        waiting = [asyncio.create_task(first.get("/slow")) for _ in range(2)]
        await both.wait()
        status = (await (await client(peer, said)).get("/")).status_code
        release.set()
        assert [(await one).status_code for one in waiting] == [200, 200]
        assert (await first.get("/")).status_code == 200, "there is room again"
    assert len(refused) == server.metrics.throttled == (status == 429)
    return status


@pytest.mark.parametrize(
    ("peer", "said", "status"),
    [
        (PROXY, [CLIENT], 429),
        (PROXY, [OTHER], 200),
        (PROXY, [f"{OTHER}, {CLIENT}"], 429),  # the client made the first part up
        (PROXY, [OTHER, CLIENT], 429),
        (PROXY, [f"127.0.0.1, {CLIENT}"], 429),
        (PROXY, [f"{CLIENT}, {OTHER}"], 200),  # made up to harm another
        (PROXY, [f"{CLIENT}, {INNER}"], 429),  # a proxy behind a proxy
        (PROXY, [f"{CLIENT}:4711"], 429),
        (PROXY, [], 200),
        (OTHER, [CLIENT], 200),  # no proxy: what it says counts for nothing
        (CLIENT, [OTHER], 429),
        (CLIENT, [], 429),
        ("127.0.0.1", [CLIENT], 200),  # not named as a proxy here
    ],
)
def test_the_address_that_counts_is_what_a_trusted_proxy_says(peer, said, status):
    assert asyncio.run(status_while_two_are_open(peer, said)) == status


def test_clients_behind_a_proxy_on_this_machine_share_no_limit(tmp_path):
    with serving(tmp_path, limits=Limits(per_address=3)) as (url, server), ExitStack() as opened:
        client = Server(url)
        match = client.create("games/TicTacToe-v0", ["open", "open"])
        client.close()

        def socket(address):
            told = {"X-Forwarded-For": address}
            url_ = f"{url.replace('http', 'ws')}/ws"
            return opened.enter_context(connect(url_, additional_headers=told))

        for _ in range(3):
            socket(CLIENT)
        with pytest.raises(ConnectionClosed) as closed:
            socket(CLIENT).recv(20)
        assert closed.value.rcvd.code == 1013
        headers = {"X-Forwarded-For": CLIENT}
        refused = httpx.get(f"{url}/matches", headers=headers)
        assert (refused.status_code, refused.json()["kind"]) == (429, "Refused")
        assert "your address" in refused.json()["error"]
        for address in (OTHER, "2001:db8::7"):
            found = httpx.get(f"{url}/matches", headers={"X-Forwarded-For": address}).json()
            assert [one["match"] for one in found["matches"]] == [match]
        socket(OTHER).send('{"do": "sit", "handle": 1, "token": "wrong"}')
        assert server.metrics.throttled == 2


@pytest.mark.parametrize(
    ("scheme", "client", "told"),
    [
        ("https", (CLIENT, 5), {"x-forwarded-for": CLIENT, "x-forwarded-proto": "https"}),
        ("wss", (CLIENT, 5), {"x-forwarded-for": CLIENT, "x-forwarded-proto": "https"}),
        ("ws", None, {"x-forwarded-proto": "http"}),
    ],
)
def test_servers_tell_each_other_the_client_and_nothing_that_it_made_up(scheme, client, told):
    names = [(b"X-Forwarded-For", OTHER), (b"x-forwarded-proto", "ftp"), (b"accept", "*/*")]
    headers = [(name.lower(), value.encode()) for name, value in names]
    scope = {"type": "http", "scheme": scheme, "client": client, "headers": headers}
    assert forwarded(scope) == told
    assert sorted(_passed(Request(scope))) == [("accept", "*/*"), *sorted(told.items())]


def test_connections_of_a_named_proxy_are_not_counted(monkeypatch):
    def counted(address):
        return connections._address(
            SimpleNamespace(get_extra_info=lambda name: (address, 4711))  # type: ignore[arg-type]
        )

    assert counted(PROXY) == PROXY
    monkeypatch.setattr(connections, "per_address", 1000)  # both are put back afterwards
    monkeypatch.setattr(connections, "trusted", ())
    connections.set_bounds(7, [*TRUSTED, PROXY, "172.23.0.0/16"])
    assert connections.per_address == 7
    found = [counted(address) for address in (PROXY, INNER, "172.24.0.9", CLIENT, "127.0.0.1")]
    assert found == ["", "", "172.24.0.9", CLIENT, ""]


@pytest.mark.parametrize(
    "proxy", ["*", "proxy", "172.18.0.5/12", "172.16.0.0/33", "http://172.18.0.5", ""]
)
def test_a_proxy_is_named_by_its_address(proxy, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["serve", "--port", "0", "--proxy", proxy])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert "172.16.0.0/12" in error
    assert repr(proxy) in error
