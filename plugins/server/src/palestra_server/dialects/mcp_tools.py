"""The tools and the resource by which a client of the Model Context Protocol plays a seat.

They call the routes of a match server, by whatever transport a client speaks. Tested with mcp 2.3.

A client of a session names its seat once, with `join`. Without sessions, as in the newest versions
of the protocol, nothing but the token says who asks. The rules are then read with the tool `rules`,
and not at an address with the token in it, since addresses are written to logs.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta
from palestra import InvalidOption
from palestra.kernel.actions import TextAction
from palestra.kernel.errors import MissingExtra, PalestraError, cause

from palestra_server.app import LONGEST_WAIT
from palestra_server.dialects.calling import Answered, Caller
from palestra_server.messages import Join, Move, SeatView
from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused
from palestra_server.words import as_data, in_words

try:
    import mcp_types as types
    from mcp.server import Server
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    raise MissingExtra("the MCP SDK", "palestra-server[mcp]") from error

log = logging.getLogger("palestra.server")
RULES = "palestra://rules"
MOST_SESSIONS = 10_000
INSTRUCTIONS = (
    "You play one seat of a match. Join a match, look at what your seat knows, and move when it is "
    "your turn, until the match is over."
)
Token = Annotated[str, Meta(description="Your seat's token, if join told you to pass it.")]
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


class RulesTool(msgspec.Struct, forbid_unknown_fields=True):
    """Read the rules for your seat again."""

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


class ReclaimTool(msgspec.Struct, forbid_unknown_fields=True):
    """Take your seat back from a substitute, which plays after your silence or illegal answers."""

    token: Token = ""


class SayTool(msgspec.Struct, forbid_unknown_fields=True):
    """Say something to other players, in a game with speech; it is your answer to this turn."""

    text: str
    to: Annotated[str, Meta(description="One player, where the game has whispers.")] = ""
    wait: Wait = 30.0
    token: Token = ""


class Say(TextAction, frozen=True):
    """Speech, as games read it."""

    text: str
    to: str = ""


Shown = tuple[str, dict[str, Any]]  # what a tool returns: text, and the same as data


class Asker(NamedTuple):
    """Who sent a request: its bearer token and its session, each empty where there is none.

    `server` are the routes of the match server.
    """

    token: str
    session: str
    server: Caller


class SeatTools:
    """The protocol's server over the routes of a match server.

    asker: who sent the request of a context. refuse: counts a refusal that no route has counted.
    open_match: opens a match for who joins any, if none has a free seat; returns its name.
    """

    def __init__(
        self,
        asker: Callable[[Any], Asker],
        refuse: Callable[[Exception], None] = lambda _: None,
        open_match: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        self._asker, self._count_refusal, self._open_match = asker, refuse, open_match
        self._joined: OrderedDict[str, str] = OrderedDict()  # the token of a session's seat
        self._tools: dict[str, tuple[Any, Callable[[Asker, Any], Awaitable[Shown]]]] = {
            "join": (JoinTool, self._join),
            "rules": (RulesTool, self._rules),
            "look": (LookTool, self._look),
            "legal": (LegalTool, self._legal),
            "move": (MoveTool, self._move),
            "say": (SayTool, self._say),
            "reclaim": (ReclaimTool, self._reclaim),
        }
        self.protocol: Server[Any] = Server(
            "palestra",
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )

    # What the protocol asks for

    async def _list_tools(self, context: Any, _: Any) -> types.ListToolsResult:
        speech = await self._may_speak(self._asker(context))
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
            text, data = await act(self._asker(context), asked)
        except Exception as error:
            said = types.TextContent(text=self._refuse(error))
            return types.CallToolResult(content=[said], is_error=True)
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=data)

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
            rules, _ = await self._rules(self._asker(context), RulesTool())
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
            self._count_refusal(error)
        return failure.error

    # Tools

    async def _join(self, asker: Asker, asked: JoinTool) -> Shown:
        match = asked.match or await self._any_match(asker)
        wanted = Join(asked.seat, asked.name, asked.invite, asked.key)
        token = (await asker.server.join(match, wanted)).token
        self.sit(asker.session, token)
        view = await asker.server.look(token)
        text = in_words(view)
        if not asker.session:
            text = f"Your seat's token, to pass to the other tools: {token}\n{text}"
        return text, {**as_data(view), "token": token}

    async def _rules(self, asker: Asker, asked: RulesTool) -> Shown:
        rules = (await asker.server.look(self._token(asker, asked.token))).rules
        return rules, {"rules": rules}

    async def _look(self, asker: Asker, asked: LookTool) -> Shown:
        token = self._token(asker, asked.token)
        return _shown(await asker.server.look(token, asked.since, asked.wait))

    async def _legal(self, asker: Asker, asked: LegalTool) -> Shown:
        token = self._token(asker, asked.token)
        now = (await asker.server.look(token)).cursor
        view = await asker.server.look(token, now, show="legal_texts")
        text = "\n".join(view.legal_texts or [view.legal]) or "It is not your turn."
        return text, as_data(view)

    async def _move(self, asker: Asker, asked: MoveTool) -> Shown:
        token = self._token(asker, asked.token)
        move = Move(text=asked.text, number=asked.number, thought=asked.thought)
        return await self._answer(asker, token, move, asked.wait)

    async def _say(self, asker: Asker, asked: SayTool) -> Shown:
        token = self._token(asker, asked.token)
        fields = await asker.server.speech(token)
        if fields is None:
            raise InvalidOption("nobody speaks in this game; use move")
        if asked.to and "to" not in fields:
            raise InvalidOption("everybody hears what is said in this game; leave 'to' out")
        said = repr(Say(asked.text, asked.to))
        return await self._answer(asker, token, Move(text=said), asked.wait)

    async def _reclaim(self, asker: Asker, asked: ReclaimTool) -> Shown:
        token = self._token(asker, asked.token)
        await asker.server.reclaim(token)
        return _shown(await asker.server.look(token))

    async def _answer(self, asker: Asker, token: str, move: Move, wait: float) -> Shown:
        read = (await asker.server.look(token)).cursor
        await asker.server.move(token, move)
        return _shown(await asker.server.look(token, read, wait))

    # Whose request it is

    def sit(self, session: str, token: str) -> None:
        """Let a session speak for the seat of a token."""
        if session:
            self._joined[session] = token
            if len(self._joined) > MOST_SESSIONS:
                self._joined.popitem(last=False)

    def _token(self, asker: Asker, token: str = "") -> str:
        """The token of the seat a request speaks for; raises `RequestRefused` without one."""
        given = token or asker.token or self._joined.get(asker.session, "")
        if given:
            return given
        hint = "" if asker.session else "; if you have joined, call a tool with your seat's token"
        raise RequestRefused(f"you have no seat yet; join a match{hint}", 401)

    async def _any_match(self, asker: Asker) -> str:
        for listed in await asker.server.matches():
            if listed["free"]:
                return str(listed["match"])
        if self._open_match is not None:
            return await self._open_match()
        raise InvalidOption("no public match has a free seat; name a match, or make one first")

    async def _may_speak(self, asker: Asker) -> bool:
        """Whether `say` is listed: for a known seat, if its game has speech, and else always.

        Clients list tools before they join, and keep the list.
        """
        try:
            return await asker.server.speech(self._token(asker)) is not None
        except PalestraError:
            return True


def _shown(view: SeatView) -> Shown:
    return in_words(view), as_data(view)


def _tool(name: str, kind: type[msgspec.Struct]) -> types.Tool:
    _, parts = msgspec.json.schema_components([kind])
    schema = dict(parts[kind.__name__])
    return types.Tool(name=name, description=schema.pop("description"), input_schema=schema)
