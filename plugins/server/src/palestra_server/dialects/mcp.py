"""Model Context Protocol at `/mcp`, by the official SDK: any MCP client can take a seat and play.

A session is a seat. The seat is named by its token, in the header `Authorization: Bearer TOKEN` or
in a tool's argument `token`, or it is the one that the session took with `join`; protocol versions
without sessions need the token.

Of several servers on one database, the one that opened a session keeps it: its id begins with that
server's name, and the others pass its requests on. A session ends with its server; the client then
opens another, and its token still opens its seat.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from palestra_server.app import MOST_BYTES, body_of
from palestra_server.dialects.calling import Caller
from palestra_server.dialects.mcp_tools import MOST_SESSIONS, Asker, SeatTools
from palestra_server.peers import HOP, Peers
from palestra_server.server import MatchServer

SESSION = "mcp-session-id"  # a header


class McpDialect:
    """`/mcp` over a match server; see the module."""

    def __init__(self, server: MatchServer) -> None:
        self._sessions = StreamableHTTPSessionManager(
            SeatTools(_asker, server.refuse).protocol,
            json_response=True,
            max_request_body_size=MOST_BYTES,
            max_sessions=MOST_SESSIONS,
        )
        self.routes = [Route("/mcp", _Endpoint(self._sessions, server.peers))]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._sessions.run():
            yield


class _Endpoint:
    """The session manager as an ASGI application, which Starlette takes for every method."""

    def __init__(self, sessions: StreamableHTTPSessionManager, peers: Peers | None) -> None:
        self._sessions, self._peers = sessions, peers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._peers is None:
            await self._sessions.handle_request(scope, receive, send)
            return
        headers = MutableHeaders(scope=scope)
        owner, _, session = headers.get(SESSION, "").rpartition(".")
        if owner and owner != self._peers.name:
            await self._pass_on(owner, scope, receive, send)
            return
        if session:
            headers[SESSION] = session
        await self._sessions.handle_request(scope, receive, _named(send, self._peers.name))

    async def _pass_on(self, owner: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the server that opened a session answer; without it the session is over."""
        request = Request(scope, receive)
        peer = self._peers.alive(owner) if self._peers and HOP not in request.headers else None
        response: Response = PlainTextResponse("this session is over; open another", 404)
        if self._peers is not None and peer is not None:
            try:
                body = await body_of(request)
                response = await self._peers.stream_on(request, body, peer.address)
            except httpx.HTTPError:
                pass  # it died meanwhile
        await response(scope, receive, send)


def _named(send: Send, name: str) -> Send:
    """Put a server's name before the id of a session that it opens."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if SESSION in headers:
                headers[SESSION] = f"{name}.{headers[SESSION]}"
        await send(message)

    return sending


def _asker(context: Any) -> Asker:
    request = context.request
    assert isinstance(request, Request)
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    given = token.strip() if kind.lower() == "bearer" else ""
    return Asker(given, request.headers.get(SESSION, ""), Caller(request.app))
