"""OpenEnv at `/openenv`: its clients play a seat of a match of their own, by `reset` and `step`.

The base URL is `http://HOST:PORT/openenv/games/TicTacToe-v0`, or `…/openenv` with `env` in
`reset`. A connection to `/ws` is a session: a seat, which is given up when the client goes. By
HTTP a cookie is the session, since OpenEnv's own HTTP keeps nothing between two requests. Spoken by
its messages, without its package. Tested with openenv 0.10 and openenv-core 0.3: the client, and
the validator of 0.10.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from palestra import InvalidOption
from palestra.kernel.errors import cause
from palestra.kernel.registry import registry
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from palestra_server.app import MOST_BYTES, Reply, answer_errors, read
from palestra_server.episodes import NOTHING, EpisodeOptions, SeatEpisode, Sessions, TurnView
from palestra_server.messages import Move
from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused, read_message
from palestra_server.security import Guard
from palestra_server.server import MatchServer
from palestra_server.words import in_words

log = logging.getLogger("palestra.server")
BASE = "/openenv"
AHEAD = 16  # frames that a client may send before it has its answers
EpisodeId = Annotated[str, Meta(max_length=255)] | None


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """What a client sends on the socket: "reset", "step", "state", "mcp" or "close"."""

    type: str
    data: dict[str, Any] = {}


class ResetRequest(EpisodeOptions, frozen=True, forbid_unknown_fields=True):
    """What `reset` takes: the match to play, and who plays the other seats."""

    episode_id: EpisodeId = None


class SeatAction(msgspec.Struct, forbid_unknown_fields=True):
    """One answer: a move in words, or an action's number."""

    text: str | None = None
    action: int | None = None
    metadata: dict[str, Any] = {}


class StepRequest(msgspec.Struct):
    """What `/step` takes; a `request_id` that comes twice is answered twice and played once."""

    action: SeatAction
    timeout_s: float | None = None
    request_id: EpisodeId = None


class SeatObservation(msgspec.Struct):
    """What the seat reads: all that is new to it, in words, and what it may do now.

    `observation` and `mask`, the numbers of legal actions, are there if `reset` asked for them with
    show=["observation"].
    """

    text: str
    player: str
    your_turn: bool
    error: str = ""
    legal: str = ""
    legal_texts: list[str] | None = None
    observation: Any = None
    mask: list[int] | None = None
    metadata: dict[str, Any] = {}


class StepResponse(msgspec.Struct):
    """An observation with the reward since the one before; None at the start of an episode."""

    observation: SeatObservation
    reward: float | None = None
    done: bool = False
    metadata: dict[str, Any] | None = None


class SeatState(msgspec.Struct):
    """Where the session stands; nothing that its seat may not know."""

    episode_id: str | None = None
    step_count: int = 0
    env: str = ""
    match: str = ""
    seat: int = 0
    status: str = ""


class OpenEnvSeat(SeatEpisode):
    """A seat that is played in OpenEnv's words."""

    episode_id: str | None = None

    async def start(self, wanted: ResetRequest) -> dict[str, Any]:
        self.episode_id = wanted.episode_id
        return self.answer(await self.reset(wanted), first=True)

    async def act(self, action: SeatAction) -> dict[str, Any]:
        return self.answer(await self.step(Move(text=action.text, action=action.action)))

    def answer(self, seen: TurnView, *, first: bool = False) -> dict[str, Any]:
        view = seen.view
        metadata: dict[str, Any] = {"match": view.match, "seat": view.seat, "turn": view.turn}
        if seen.over:
            metadata |= {"result": view.result, "score": view.score, "truncated": view.truncated}
        observation = msgspec.to_builtins(
            SeatObservation(
                text=in_words(view),
                player=view.player,
                your_turn=view.your_turn,
                error=view.error,
                legal=view.legal,
                legal_texts=view.legal_texts,
                observation=view.observation,
                mask=view.mask,
                metadata=metadata,
            )
        )
        return {
            "observation": {name: told for name, told in observation.items() if told is not None},
            "reward": None if first and not seen.over else seen.reward,
            "done": seen.over,
            "metadata": metadata,
        }

    def state(self) -> dict[str, Any]:
        if not self.token:
            return msgspec.structs.asdict(SeatState())
        match = self.key.match
        status = self._server.match(match).status
        name = self.episode_id or match
        return msgspec.structs.asdict(
            SeatState(name, self.steps, self.env, match, self.key.seat, status)
        )


class OpenEnvDialect:
    """`/openenv` over a match server; see the module.

    token: what making a match takes; clients send it with `headers={"Authorization": "Bearer …"}`.
    opponents: who plays the other seats where `reset` names nobody; the server's `allowed` must
    accept it. base: the path of all addresses. defaults: what is played where no environment is
    named.
    """

    def __init__(
        self,
        server: MatchServer,
        token: str = "",
        opponents: str = "random",
        *,
        base: str = BASE,
        defaults: EpisodeOptions = NOTHING,
    ) -> None:
        self._server, self._token, self._opponents = server, token, opponents
        self._defaults = defaults
        self._sessions = Sessions("palestra_openenv", base or "/", self._seat)
        self.routes: list[BaseRoute] = []
        for start in (base, f"{base}/{{env:path}}"):
            self.routes += [
                WebSocketRoute(f"{start}/ws", self._connect),
                Route(f"{start}/reset", answer_errors(server, self._reset), methods=["POST"]),
                Route(f"{start}/step", answer_errors(server, self._step), methods=["POST"]),
                Route(f"{start}/state", answer_errors(server, self._state)),
                Route(f"{start}/health", _health),
                Route(f"{start}/metadata", answer_errors(server, self._metadata)),
                Route(f"{start}/schema", _schema),
                Route(f"{start}/openapi.json", _openapi),
                Route(f"{start}/mcp", _no_tools, methods=["POST"]),
            ]

    def running(self) -> AbstractAsyncContextManager[None]:
        return self._sessions.running()

    def _seat(self, env: str) -> OpenEnvSeat:
        return OpenEnvSeat(
            self._server,
            env=env,
            opponents=self._opponents,
            name="openenv",
            defaults=self._defaults,
        )

    def _check(self, authorization: str) -> None:
        if self._token:
            Guard.same(authorization.partition(" ")[2].strip(), self._token)

    async def _connect(self, socket: WebSocket) -> None:
        try:
            self._check(socket.headers.get("authorization", ""))
        except RequestRefused as error:
            await socket.close(1008, str(error))
            return
        await socket.accept()
        seat = self._seat(socket.path_params.get("env", ""))
        await SocketSession(self._server, socket, seat).serve()

    async def _reset(self, _: MatchServer, request: Request) -> Response:
        self._check(request.headers.get("authorization", ""))
        wanted = await read(request, ResetRequest)
        env = request.path_params.get("env", "")
        session, seen = await self._sessions.start(request, wanted, env)
        seat = session.episode
        seat.episode_id = wanted.episode_id
        return self._sessions.keep(request, session, Reply(seat.answer(seen, first=True)))

    async def _step(self, _: MatchServer, request: Request) -> Response:
        wanted = await read(request, StepRequest)
        session = self._sessions.find(request)
        seat = session.episode
        answer = await session.once(wanted.request_id, lambda: seat.act(wanted.action))
        return self._sessions.keep(request, session, Reply(answer))

    async def _state(self, _: MatchServer, request: Request) -> Response:
        seat = self._sessions.find(request).episode
        return Reply(seat.state())

    async def _metadata(self, _: MatchServer, request: Request) -> Response:
        env = request.path_params.get("env", "") or self._defaults.env
        spec = registry().environment(env) if env else None
        summary = spec.summary if spec else "Matches of any environment; name one in reset()."
        told = version("palestra-server")
        return Reply({"name": env or "palestra", "description": summary, "version": told})


class SocketSession:
    """One connection; its answers come in the order of its frames."""

    def __init__(self, server: MatchServer, socket: WebSocket, seat: OpenEnvSeat) -> None:
        self._server, self._socket, self._seat = server, socket, seat
        self._frames: asyncio.Queue[str] = asyncio.Queue(AHEAD)
        self._acts: dict[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "reset": self._reset,
            "step": self._step,
            "state": self._state,
            "mcp": self._mcp,
        }

    async def serve(self) -> None:
        """Read until the client goes, also while other seats think; then give the seat up."""
        self._server.metrics.sockets += 1
        answering = asyncio.create_task(self._answer_all())
        try:
            while (frame := await self._socket.receive())["type"] != "websocket.disconnect":
                self._frames.put_nowait(frame.get("text") or "")
        except asyncio.QueueFull:
            await self._socket.close(1008, f"at most {AHEAD} messages before their answers")
        finally:
            self._server.metrics.sockets -= 1
            answering.cancel()
            await asyncio.gather(answering, return_exceptions=True)
            await self._seat.leave()

    async def _answer_all(self) -> None:
        while (answer := await self._answer(await self._frames.get())) is not None:
            await self._socket.send_text(msgspec.json.encode(answer).decode())
        await self._socket.close()

    async def _answer(self, frame: str) -> dict[str, Any] | None:
        """The reply to one frame; None where the client says goodbye."""
        try:
            if len(frame) > MOST_BYTES:
                raise InvalidOption(f"a message has at most {MOST_BYTES} bytes")
            message = read_message(frame, Message)
            if message.type == "close":
                return None
            if message.type not in self._acts:
                text = f"type is reset, step, state, mcp or close, not {message.type[:40]!r}"
                return _error(text, "UNKNOWN_TYPE")
            data = await self._acts[message.type](message.data)
            kind = message.type if message.type in ("state", "mcp") else "observation"
            return {"type": kind, "data": data}
        except msgspec.ValidationError as error:
            return self._refuse(error, "VALIDATION_ERROR")
        except (msgspec.DecodeError, RecursionError) as error:
            return self._refuse(error, "INVALID_JSON")
        except Exception as error:
            full = isinstance(error, RequestRefused) and error.status == 503
            return self._refuse(error, "CAPACITY_REACHED" if full else "EXECUTION_ERROR")

    def _refuse(self, error: Exception, code: str) -> dict[str, Any]:
        failure, status = refusal(error)
        if status == 500:
            log.exception("an OpenEnv session failed: %s", cause(error))
        self._server.refuse(error)
        return _error(failure.error, code)

    async def _reset(self, data: dict[str, Any]) -> dict[str, Any]:
        return await self._seat.start(msgspec.convert(data, ResetRequest))

    async def _step(self, data: dict[str, Any]) -> dict[str, Any]:
        return await self._seat.act(msgspec.convert(data, SeatAction))

    async def _state(self, _: dict[str, Any]) -> dict[str, Any]:
        return self._seat.state()

    async def _mcp(self, data: dict[str, Any]) -> dict[str, Any]:
        return {**NO_TOOLS, "id": data.get("id")}


def _error(message: str, code: str) -> dict[str, Any]:
    return {"type": "error", "data": {"message": message, "code": code}}


# What tools ask before they connect

NO_TOOLS = {
    "jsonrpc": "2.0",
    "id": None,
    "error": {"code": -32601, "message": "no tools here; seats play MCP at /mcp of this server"},
}


async def _health(_: Request) -> Response:
    return Reply({"status": "healthy"})


async def _schema(_: Request) -> Response:
    kinds = {
        "action": SeatAction,
        "observation": SeatObservation,
        "reset_observation": SeatObservation,
        "state": SeatState,
    }
    schemas = msgspec.json.schema_components(list(kinds.values()))[1]
    return Reply({name: schemas[kind.__name__] for name, kind in kinds.items()})


async def _openapi(_: Request) -> Response:
    """All of this address, its bodies from the structs that read and write them."""
    kinds = [ResetRequest, StepRequest, StepResponse, SeatState]
    reference = "#/components/schemas/{name}"
    schemas = msgspec.json.schema_components(kinds, ref_template=reference)[1]

    def body(kind: type[msgspec.Struct]) -> dict[str, Any]:
        schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
        return {"content": {"application/json": {"schema": schema}}}

    def answer(kind: type[msgspec.Struct] | None) -> dict[str, Any]:
        return {"200": {"description": "JSON", **(body(kind) if kind else {})}}

    paths: dict[str, Any] = {
        "/reset": {
            "post": {
                "summary": "Begin an episode; the cookie that comes is the session.",
                "requestBody": body(ResetRequest),
                "responses": answer(StepResponse),
            }
        },
        "/step": {
            "post": {
                "summary": "Answer the seat's turn.",
                "requestBody": body(StepRequest),
                "responses": answer(StepResponse),
            }
        },
    }
    asked: dict[str, tuple[str, type[msgspec.Struct] | None]] = {
        "/state": ("Where the session stands.", SeatState),
        "/health": ("Whether the server runs.", None),
        "/metadata": ("The environment's name and what it is about.", None),
        "/schema": ("JSON Schemas of actions, observations and the state.", None),
    }
    for path, (text, kind) in asked.items():
        paths[path] = {"get": {"summary": text, "responses": answer(kind)}}
    info = {"title": "Palestra's matches for OpenEnv", "version": "1.0.0"}
    components = {"schemas": schemas}
    return Reply({"openapi": "3.1.0", "info": info, "paths": paths, "components": components})


async def _no_tools(_: Request) -> Response:
    """OpenEnv asks for this address; MCP clients play at the server's own `/mcp`."""
    return Reply(NO_TOOLS)
