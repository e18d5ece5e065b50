"""Clients behind a proxy: which address a request comes from, and how many one address has open."""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Sequence

import msgspec
from palestra import InvalidOption
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused
from palestra_server.server import MatchServer

TRUSTED = ("127.0.0.1", "::1")  # proxies on this machine


def read_proxies(given: Sequence[str]) -> tuple[str, ...]:
    """The addresses and networks of trusted proxies, this machine's own among them.

    Raises `InvalidOption` for anything else, such as a host name or a network whose address has
    bits beyond its prefix.
    """
    for proxy in given:
        try:
            ipaddress.ip_network(proxy)
        except ValueError as error:
            raise InvalidOption(
                f"--proxy is an address or a network, such as 172.18.0.5 or 172.16.0.0/12, not "
                f"{proxy!r} ({error})"
            ) from None
    return (*TRUSTED, *given)


class PerAddress:
    """Refuses requests and sockets of an address that has `Limits.per_address` open.

    Connections are counted as they are made (`connections`), but those of a proxy belong to many
    clients. It stands behind uvicorn's `ProxyHeadersMiddleware`, from which the address comes.
    """

    def __init__(self, app: ASGIApp, *, server: MatchServer) -> None:
        self._app, self._server = app, server
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address = _counted(scope)
        if not address:
            await self._app(scope, receive, send)
            return
        if self._open[address] >= self._server.limits.per_address:
            await self._refuse(scope, receive, send)
            return
        self._open[address] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = RequestRefused("too many requests of your address at once; try later", 429)
        self._server.metrics.throttled += 1
        self._server.refuse(problem)
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})  # or the client would not learn the code
            await send({"type": "websocket.close", "code": 1013, "reason": str(problem)})
            return
        failure, status = refusal(problem)
        body = msgspec.json.encode(failure)
        await Response(body, status, media_type="application/json")(scope, receive, send)


def _counted(scope: Scope) -> str:
    """The client's address; empty for this machine's own and for what has none."""
    address: str = (scope.get("client") or ("",))[0]
    try:
        own = ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:  # a proxy wrote something else: its clients of that name count as one
        own = False
    return "" if own else address
