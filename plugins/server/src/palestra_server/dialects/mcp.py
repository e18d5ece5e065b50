"""Model Context Protocol at `/mcp`, by the official SDK: any MCP client can take a seat and play.

A session is a seat. The seat is named by its token, in the header `Authorization: Bearer TOKEN` or
in a tool's argument `token`, or it is the one that the session took with `join`; protocol versions
without sessions need the token. Tested with mcp 2.3.

Of several servers on one database, the one that opened a session keeps it: its id begins with that
server's name, and the others pass its requests on. A session ends with its server; the client then
opens another, and its token still opens its seat.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, NamedTuple

import httpx
import msgspec
from msgspec import Meta
from palestra import InvalidOption
from palestra.kernel.actions import TextAction
from palestra.kernel.errors import MissingExtra, PalestraError, cause
from palestra.kernel.game import Game
from palestra.kernel.registry import open_game
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from palestra_server.app import LONGEST_WAIT, MOST_BYTES, body_of
from palestra_server.dialects.calling import Answered, Caller
from palestra_server.messages import Join, Move, SeatView
from palestra_server.peers import HOP, Elsewhere, Peers
from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused
from palestra_server.server import MatchServer
from palestra_server.words import as_data, in_words

try:
    import mcp_types as types
    from mcp.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    raise MissingExtra("the MCP SDK", "palestra-server[mcp]") from error

log = logging.getLogger("palestra.server")
RULES = "palestra://rules"
SESSION = "mcp-session-id"  # a header
MOST_SESSIONS = 10_000
INSTRUCTIONS = (
    "You play one seat of a match. Join a match, look at what your seat knows, and move when it is "
    "your turn, until the match is over."
)
Token = Annotated[str, Meta(description="Your seat's token; needed only without a session.")]
Wait = Annotated[
    float, Meta(ge=0, le=LONGEST_WAIT, description="Seconds to wait for your next turn or the end.")
]


class JoinTool(msgspec.Struct, forbid_unknown_fields=True):
    """Take a seat of a match, and read its rules."""

    match: Annotated[str, Meta(description="Empty for any public match with a free seat.")] = ""
    seat: Annotated[int | None, Meta(description="Any free seat without it.")] = None
    name: Annotated[str, Meta(description="What the record calls you.")] = ""
    invite: Annotated[str, Meta(description="What opens a match that is not public.")] = ""
    key: Annotated[
        str,
        Meta(description="A secret of yours, 16 characters or more, to ask again."),
    ] = ""


class LookTool(msgspec.Struct, forbid_unknown_fields=True):
    """Read what your seat knows now."""

    since: Annotated[int, Meta(ge=0, description="The cursor of what you have read.")] = 0
    wait: Wait = 0.0
    token: Token = ""


class LegalTool(msgspec.Struct, forbid_unknown_fields=True):
    """List the moves that are legal now."""

    token: Token = ""


class MoveTool(msgspec.Struct, forbid_unknown_fields=True):
    """Answer your turn, wait for the next one, and read what happened meanwhile."""

    text: Annotated[str, Meta(description="The move, written as the legal moves are.")]
    number: Annotated[
        int | None, Meta(description="The view's number, so that no answer counts twice.")
    ] = None
    thought: Annotated[str, Meta(description="Your reasons, for the record alone.")] = ""
    wait: Wait = 30.0
    token: Token = ""


class SayTool(msgspec.Struct, forbid_unknown_fields=True):
    """Say something to other players; it is your answer to this turn."""

    text: str
    to: Annotated[str, Meta(description="One player, where the game has whispers.")] = ""
    wait: Wait = 30.0
    token: Token = ""


class JoinedView(SeatView):
    """A seat that was just taken, and the token that opens it from elsewhere."""

    token: str = ""


Told = tuple[str, SeatView]


class Asker(NamedTuple):
    """Who sent a request: its bearer token and its session, each empty where there is none.

    `server` are the routes of the application that was asked.
    """

    token: str
    session: str
    server: Caller


class McpDialect:
    """`/mcp` over a match server; see the module."""

    def __init__(self, server: MatchServer) -> None:
        self._server = server
        self._joined: OrderedDict[str, str] = OrderedDict()  # the token of a session's seat
        self._tools: dict[str, tuple[Any, Callable[[Asker, Any], Awaitable[Told]]]] = {
            "join": (JoinTool, self._join),
            "look": (LookTool, self._look),
            "legal": (LegalTool, self._legal),
            "move": (MoveTool, self._move),
            "say": (SayTool, self._say),
        }
        protocol: Server[Any] = Server(
            "palestra",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )
        self._sessions = StreamableHTTPSessionManager(
            protocol,
            json_response=True,
            max_request_body_size=MOST_BYTES,
            max_sessions=MOST_SESSIONS,
        )
        self.routes = [Route("/mcp", _Endpoint(self._sessions, server.peers))]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._sessions.run():
            yield

    # What the protocol asks for

    async def _list_tools(self, context: Any, _: Any) -> types.ListToolsResult:
        speech = await self._has_speech(_asker(context))
        shown = [name for name in self._tools if name != "say" or speech]
        return types.ListToolsResult(tools=[_tool(name, self._tools[name][0]) for name in shown])

    async def _call_tool(
        self, context: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            if params.name not in self._tools:
                raise InvalidOption(f"no tool {params.name[:40]!r}; tools: {list(self._tools)}")
            kind, act = self._tools[params.name]
            asked = msgspec.convert(params.arguments or {}, kind)
            text, view = await act(_asker(context), asked)
        except Exception as error:
            said = types.TextContent(text=self._refuse(error))
            return types.CallToolResult(content=[said], is_error=True)
        return types.CallToolResult(
            content=[types.TextContent(text=text)], structured_content=as_data(view)
        )

    async def _list_resources(self, context: Any, _: Any) -> types.ListResourcesResult:
        rules = types.Resource(
            uri=RULES, name="rules", description="The rules for your seat.", mime_type="text/plain"
        )
        return types.ListResourcesResult(resources=[rules])

    async def _read_resource(
        self, context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            if params.uri != RULES:
                raise InvalidOption(f"no resource {params.uri[:80]!r}; there is {RULES}")
            asker = _asker(context)
            rules = (await asker.server.look(self._token(asker))).rules
        except Exception as error:
            raise MCPError(types.INVALID_PARAMS, self._refuse(error)) from error
        text = types.TextResourceContents(uri=RULES, text=rules, mime_type="text/plain")
        return types.ReadResourceResult(contents=[text])

    def _refuse(self, error: Exception) -> str:
        """The message that the client gets for an error."""
        failure, status = refusal(error)
        if status == 500:
            log.exception("a request by MCP failed: %s", cause(error))
        if not isinstance(error, Answered):
            self._server.refuse(error)
        return failure.error

    # Tools; each gives what the client reads as text, and the view as data

    async def _join(self, asker: Asker, asked: JoinTool) -> Told:
        match = asked.match or await self._any_match(asker)
        wanted = Join(asked.seat, asked.name, asked.invite, asked.key)
        seated = await asker.server.join(match, wanted)
        if asker.session:
            self._joined[asker.session] = seated.token
            if len(self._joined) > MOST_SESSIONS:
                self._joined.popitem(last=False)
        view = await asker.server.look(seated.token)
        text = in_words(view)
        if not asker.session:
            text = f"Your seat's token, for the other tools: {seated.token}\n{text}"
        return text, JoinedView(**msgspec.structs.asdict(view), token=seated.token)

    async def _look(self, asker: Asker, asked: LookTool) -> Told:
        token = self._token(asker, asked.token)
        return _told(await asker.server.look(token, asked.since, asked.wait))

    async def _legal(self, asker: Asker, asked: LegalTool) -> Told:
        token = self._token(asker, asked.token)
        now = (await asker.server.look(token)).cursor
        view = await asker.server.look(token, now, show="legal_texts")
        return "\n".join(view.legal_texts or [view.legal]) or "It is not your turn.", view

    async def _move(self, asker: Asker, asked: MoveTool) -> Told:
        token = self._token(asker, asked.token)
        move = Move(text=asked.text, number=asked.number, thought=asked.thought)
        return await self._answer(asker, token, move, asked.wait)

    async def _say(self, asker: Asker, asked: SayTool) -> Told:
        token = self._token(asker, asked.token)
        speech = speech_of(self._game(self._server.seat(token).match))
        if speech is None:
            raise InvalidOption("nobody speaks in this game; use move")
        if asked.to and "to" not in speech.__struct_fields__:
            raise InvalidOption("everybody hears what is said in this game; leave 'to' out")
        said = {"text": asked.text, **({"to": asked.to} if asked.to else {})}
        return await self._answer(asker, token, Move(text=repr(speech(**said))), asked.wait)

    async def _answer(self, asker: Asker, token: str, move: Move, wait: float) -> Told:
        read = (await asker.server.look(token)).cursor
        await asker.server.move(token, move)
        return _told(await asker.server.look(token, read, wait))

    # Whose request it is

    def _token(self, asker: Asker, token: str = "") -> str:
        """The token of the seat a request speaks for; raises `RequestRefused` without one."""
        given = token or asker.token or self._joined.get(asker.session, "")
        if not given:
            raise RequestRefused(
                "you have no seat yet; join a match, or send your seat's token", 401
            )
        return given

    async def _any_match(self, asker: Asker) -> str:
        for listed in await asker.server.matches():
            if listed["free"]:
                return str(listed["match"])
        raise InvalidOption("no public match has a free seat; name a match, or make one first")

    def _game(self, match: str) -> Game[Any, Any]:
        """The rules of a match, which another server may play."""
        try:
            return self._server.match(match).game
        except Elsewhere:
            kept = self._server.store.load(match)
            if kept is None:
                raise
            return open_game(kept.plan.env, kept.plan.options)[1]

    async def _has_speech(self, asker: Asker) -> bool:
        """Whether the asker's game has speech; without a seat, whether any open match has."""
        try:
            matches = [self._server.seat(self._token(asker)).match]
        except PalestraError:
            listed = await asker.server.matches()
            matches = [str(match["match"]) for match in listed if match["free"]]
        return any(speech_of(self._game(name)) is not None for name in matches)


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


def speech_of(game: Game[Any, Any]) -> type[TextAction] | None:
    """The kind of action that is speech in a game; None where it has none."""
    kinds: tuple[type[TextAction], ...] = getattr(game, "action_types", ())
    return next((kind for kind in kinds if kind.__name__ == "Say"), None)


def _told(view: SeatView) -> Told:
    return in_words(view), view


def _asker(context: Any) -> Asker:
    request = context.request
    assert isinstance(request, Request)
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    given = token.strip() if kind.lower() == "bearer" else ""
    return Asker(given, request.headers.get(SESSION, ""), Caller(request.app))


def _tool(name: str, kind: type[msgspec.Struct]) -> types.Tool:
    _, parts = msgspec.json.schema_components([kind])
    schema = dict(parts[kind.__name__])
    return types.Tool(name=name, description=schema.pop("description"), input_schema=schema)
