"""Which requests are allowed: host names, origins, and headers of every response."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from palestra_server.refused import RequestRefused

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY_HOST = "*"  # among `hosts`: behind a proxy or in a container, whose names nobody knows here


class Guard:
    """Refuses requests under a foreign name (DNS rebinding) or from a foreign page.

    A browser sends `Origin` with every request that changes something and with every socket, so
    that a foreign page cannot make moves for its visitor. Programs send none.
    """

    def __init__(self, app: ASGIApp, *, hosts: Sequence[str]) -> None:
        self._app, self._hosts = app, frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        problem = self._problem(headers)
        if problem and scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": problem})
        elif problem:
            await PlainTextResponse(problem, 403)(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, _with_policy(send))

    def _problem(self, headers: Headers) -> str:
        for name in ("host", "origin", "authorization"):
            if len(headers.getlist(name)) > 1:  # a proxy may have read the other one
                return f"this request has more than one {name.title()}"
        named, origin = headers.get("host", ""), headers.get("origin")
        try:
            host = urlsplit(f"//{named}").hostname or ""
            page = named if origin is None else urlsplit(origin).netloc
        except ValueError:  # such as an address with one bracket
            return "this request has a Host or an Origin that is no address"
        if host not in self._hosts and ANY_HOST not in self._hosts:
            return f"this server is not {host[:100]!r}"
        if page != named:
            return "this request comes from a page of another site"
        return ""

    @staticmethod
    def same(given: str, expected: str) -> None:
        """Raise `RequestRefused` unless two secrets are equal; takes the same time for any two."""
        if not hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode()):
            raise RequestRefused("this token is not the server's")


def _with_policy(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.setdefault("content-security-policy", POLICY)
            headers["x-content-type-options"] = "nosniff"
            headers["referrer-policy"] = "no-referrer"
            headers["cross-origin-opener-policy"] = "same-origin"
            headers["cross-origin-resource-policy"] = "same-origin"
            headers["cache-control"] = "no-store"
        await send(message)

    return sending
