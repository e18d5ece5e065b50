"""The web application: matches and seats by HTTP and WebSocket."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import msgspec
from palestra.kernel.errors import cause
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from palestra_server.dialects import Dialect
from palestra_server.messages import Again, Create, Failure, HandOver, Join, Move, NewMatch
from palestra_server.metrics import Counts, as_text
from palestra_server.openapi import openapi
from palestra_server.page import page_routes, record_response
from palestra_server.peers import HOP, TAKEN_OVER, Elsewhere
from palestra_server.pictures import Pictures
from palestra_server.proxies import TRUSTED, PerAddress
from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused, Wanted, read_message
from palestra_server.seats import SeatKey
from palestra_server.security import LOOPBACK, Guard
from palestra_server.server import MatchServer
from palestra_server.socket import SocketSession
from palestra_server.spaces import fields_of_speech, write_space

log = logging.getLogger("palestra.server")
MOST_BYTES = 1_000_000  # of one request
LONGEST_WAIT = 60.0  # seconds that `GET /seat` may wait for a turn


class Reply(Response):
    """A struct as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


def create_app(
    server: MatchServer,
    *,
    hosts: Sequence[str] = LOOPBACK,
    token: str = "",
    first: Create | None = None,
    tell: Callable[[NewMatch], None] | None = None,
    more: Sequence[BaseRoute] = (),
    dialects: Sequence[Dialect] = (),
    proxies: Sequence[str] = TRUSTED,
) -> Starlette:
    """The application over one server.

    hosts: host names and addresses that requests may use; others are refused. token: the bearer
    token required to create a match; empty for none. first: a match to open at the start, whose
    names `tell` gets. more: further routes. dialects: other protocols to support. proxies:
    addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with running(server, dialects):
            if first is not None:
                opened = await server.create_own(first)
                if tell is not None:
                    tell(opened)
            try:
                yield
            finally:
                await pictures.close()

    matches, pictures = Matches(server, token), Pictures()
    routes = [
        *page_routes(server.allowed, pictures),
        Route("/matches", matches.handle, methods=["GET", "POST"]),
        Route("/matches/{match}/join", answer_errors(server, _join), methods=["POST"]),
        Route("/matches/{match}/record", answer_errors(server, _watched_record), methods=["GET"]),
        Route("/seat", answer_errors(server, _look), methods=["GET"]),
        Route("/seat/move", answer_errors(server, _move), methods=["POST"]),
        Route("/seat/resign", answer_errors(server, _resign), methods=["POST"]),
        Route("/seat/reclaim", answer_errors(server, _reclaim), methods=["POST"]),
        Route("/seat/hand-over", answer_errors(server, _hand_over), methods=["POST"]),
        Route("/seat/again", matches.again, methods=["POST"]),
        Route("/seat/spaces", answer_errors(server, _spaces), methods=["GET"]),
        Route("/seat/record", answer_errors(server, _record), methods=["GET"]),
        Route("/openapi.json", openapi),
        Route("/health", _health),
        Route("/ready", answer_errors(server, _ready), methods=["GET"]),
        Route("/metrics", answer_errors(server, _metrics), methods=["GET"]),
        WebSocketRoute("/ws", _Sockets(server)),
    ]
    return Starlette(
        routes=[*routes, *(route for dialect in dialects for route in dialect.routes), *more],
        middleware=[
            Middleware(ProxyHeadersMiddleware, trusted_hosts=list(proxies)),
            Middleware(PerAddress, server=server),
            Middleware(Guard, hosts=hosts),
        ],
        lifespan=lifespan,
    )


@asynccontextmanager
async def running(server: MatchServer, dialects: Sequence[Dialect]) -> AsyncIterator[None]:
    """A server with its dialects, from its start to its stop."""
    await server.start()
    try:
        async with AsyncExitStack() as open_dialects:
            for dialect in dialects:
                await open_dialects.enter_async_context(dialect.running())
            yield
    finally:
        await server.stop()


class _Sockets:
    """Serves each WebSocket by a session of its own."""

    def __init__(self, server: MatchServer) -> None:
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await SocketSession(self._server, scope, receive, send).serve()


Handler = Callable[[MatchServer, Request], Awaitable[Response]]


def answer_errors(
    server: MatchServer, handler: Handler
) -> Callable[[Request], Awaitable[Response]]:
    """A route whose errors become short JSON answers, and that may be another server's to answer.

    A server that is gone is asked for until its matches are taken over.
    """

    async def handle(request: Request) -> Response:
        until = asyncio.get_running_loop().time() + TAKEN_OVER
        while True:
            try:
                return await handler(server, request)
            except Elsewhere as error:
                found = await passed_on(server, request, error, until)
                if found is not None:
                    return found
            except Exception as error:
                failure, status = refusal(error)
                if status == 500:  # of the game's rules, or ours
                    log.exception(
                        "%s %s failed: %s", request.method, request.url.path, cause(error)
                    )
                server.refuse(error)
                return Reply(failure, status)

    return handle


async def passed_on(
    server: MatchServer, request: Request, error: Elsewhere, until: float
) -> Response | None:
    """The answer of the server that plays the match; None if it is gone, to try again."""
    late = asyncio.get_running_loop().time() > until
    if server.peers is None or HOP in request.headers or late:
        return Reply(*refusal(error))
    try:
        return await server.peers.pass_on(request, await body_of(request), error.address)
    except httpx.ConnectError:
        await asyncio.sleep(0.25)
        return None
    except RequestRefused as broke_off:
        return Reply(*refusal(broke_off))


class Matches:
    """`GET /matches` lists matches; `POST /matches` creates one, `POST /seat/again` the next."""

    def __init__(self, server: MatchServer, token: str) -> None:
        self._token = token
        self.handle = answer_errors(server, self._handle)
        self.again = answer_errors(server, self._again)

    async def _handle(self, server: MatchServer, request: Request) -> Response:
        if request.method == "GET":
            return Reply({"matches": [*server.listed(), *await _listed_elsewhere(server, request)]})
        if self._token:
            Guard.same(bearer(request), self._token)
        wanted = await read(request, Create)
        opened = await server.create(wanted)
        return Reply(opened, 201)

    async def _again(self, server: MatchServer, request: Request) -> Response:
        given = (await read(request, Again)).token
        allowed = not self._token or hmac.compare_digest(given.encode(), self._token.encode())
        return Reply(await server.again(bearer(request), allowed), 201)


async def _join(server: MatchServer, request: Request) -> Response:
    seated = await server.join(request.path_params["match"], await read(request, Join))
    return Reply(seated, 201)


async def _look(server: MatchServer, request: Request) -> Response:
    key = server.seat(bearer(request))
    asked = request.query_params
    wait = min(LONGEST_WAIT, number(asked.get("wait", "0"), "wait"))
    if wait > 0:
        await server.wait(key, wait)
    await server.written(key)
    return _seat_response(server, request, key)


async def _move(server: MatchServer, request: Request) -> Response:
    key = server.seat(bearer(request))
    await server.move(key, await read(request, Move))
    await server.settled(key)
    return _seat_response(server, request, key)


async def _resign(server: MatchServer, request: Request) -> Response:
    key = server.seat(bearer(request))
    await server.resign(key)
    return _seat_response(server, request, key)


async def _reclaim(server: MatchServer, request: Request) -> Response:
    key = server.seat(bearer(request))
    await server.reclaim(key)
    return _seat_response(server, request, key)


async def _hand_over(server: MatchServer, request: Request) -> Response:
    return Reply(await server.hand_over(bearer(request), await read(request, HandOver)), 201)


def _seat_response(server: MatchServer, request: Request, key: SeatKey) -> Response:
    asked = request.query_params
    show = [word for word in asked.get("show", "").split(",") if word]
    since = int(number(asked.get("since", "0"), "since"))
    return Reply(server.look(key, since, show, with_rules=since == 0))


async def _spaces(server: MatchServer, request: Request) -> Response:
    key = server.seat(bearer(request))
    game = server.match(key.match).game
    speech = fields_of_speech(game)
    spaces: dict[str, Any] = {"observation": None, "action": None, "speech": speech}
    if game.has_numbers:
        spaces["observation"] = write_space(game.observation_space(key.seat))
        spaces["action"] = write_space(game.action_space(key.seat))
    return Reply(spaces)


async def _record(server: MatchServer, request: Request) -> Response:
    key = server.seat(bearer(request))
    await server.written(key)
    record = server.record(key)
    return await record_response(record, request.query_params.get("form", ""), server.pages)


async def _watched_record(server: MatchServer, request: Request) -> Response:
    word = bearer(request) if "authorization" in request.headers else ""
    key = server.watcher(request.path_params["match"], word)
    await server.written(key)
    record = server.record(key)
    return await record_response(record, request.query_params.get("form", ""), server.pages)


async def _listed_elsewhere(server: MatchServer, request: Request) -> list[Any]:
    """Public matches of the other servers on this database."""
    if server.peers is None or HOP in request.headers:
        return []
    told = await server.peers.ask_all("/matches")
    return [match for said in told.values() for match in msgspec.json.decode(said)["matches"]]


async def _metrics(server: MatchServer, request: Request) -> Response:
    """Prometheus' text; of several servers on one database, the counts of each."""
    counts = server.counts()
    if server.peers is None:
        return PlainTextResponse(as_text({"": counts}))
    if HOP in request.headers:
        return Reply(counts)
    told = await server.peers.ask_all("/metrics")
    others = {name: msgspec.json.decode(said, type=Counts) for name, said in told.items()}
    return PlainTextResponse(as_text({server.peers.name: counts, **others}))


async def _health(_: Request) -> Response:
    """The process runs."""
    return Reply({"status": "ok"})


async def _ready(server: MatchServer, _: Request) -> Response:
    """Matches are restored, the database can be read, and there is room for a match."""
    full = server.full
    if not server.ready or full:
        return Reply(Failure(full or "matches are being restored", "Unready"), 503)
    server.store.owner("")  # raises if the database is gone
    return Reply({"status": "ready"})


def bearer(request: Request) -> str:
    """The token of the Authorization header; raises `RequestRefused` without one."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise RequestRefused("send the seat's token as 'Authorization: Bearer TOKEN'", 401)
    return token.strip()


def number(text: str, name: str) -> float:
    """A finite number of 0 or more from a query; raises `RequestRefused`."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise RequestRefused(f"{name} is a number from 0, not {text[:40]!r}", 400)
    return value


async def read(request: Request, kind: type[Wanted], most: int = MOST_BYTES) -> Wanted:
    """A request's JSON body as a struct; raises `RequestRefused` for one that is too long."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise RequestRefused("send JSON, with 'Content-Type: application/json'", 415)
    return read_message(await body_of(request, most), kind)


async def body_of(request: Request, most: int = MOST_BYTES) -> bytes:
    """A request's body; it can be read again. Raises `RequestRefused` for one that is too long."""
    if not hasattr(request.state, "body"):
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise RequestRefused(f"a message has at most {most} bytes", 413)
        request.state.body = bytes(body)
    return request.state.body
