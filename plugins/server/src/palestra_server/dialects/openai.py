"""`/v1/chat/completions` and `/v1/responses`, which forward requests to a language model and record
them, and `/v1/models`, which only forwards.

An agent framework plays a seat with this address as its `base_url` and the seat's token as its API
key. Its requests and replies between two answers of the seat are recorded with the second:
messages, reply, usage, and token ids and log-probabilities if the engine returns them. Tested with
openai 3.57; token ids are those of vLLM.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
import msgspec
from palestra import InvalidOption
from palestra.kernel.errors import cause, show
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from palestra_server.app import Reply, answer_errors, bearer, read
from palestra_server.dialects.completions import COMPLETIONS
from palestra_server.dialects.formats import Format
from palestra_server.dialects.responses import RESPONSES
from palestra_server.peers import Elsewhere
from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused
from palestra_server.server import MatchServer

log = logging.getLogger("palestra.server")
LONGEST_ANSWER = 600.0  # seconds that the model may take
MOST_BYTES = 16_000_000  # of one reply
STREAM = ("stream", "stream_options")


class _Said(msgspec.Struct):
    message: str


class _Refused(msgspec.Struct):
    """OpenAI's error object, as far as its clients need it."""

    error: _Said


class CaptureDialect:
    """The endpoints over a match server, before the model server at `upstream`.

    upstream: its base URL, as in `http://127.0.0.1:9000/v1`. key: its API key, which no client
    sees. tokens: ask it for token ids and log-probabilities, as vLLM gives them.
    """

    def __init__(
        self, server: MatchServer, upstream: str, key: str = "", *, tokens: bool = False
    ) -> None:
        if not upstream.startswith(("http://", "https://")):
            raise InvalidOption(f"upstream is a URL as in http://127.0.0.1:9000/v1, not {upstream}")
        self._server, self._tokens = server, tokens
        self._upstream = upstream.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http: httpx.AsyncClient | None = None
        models = self._route("/models", self._models, "GET")
        model = self._route("/models/{model:path}", self._models, "GET")
        forwarded = (
            self._route(spoken.path, partial(self._forward, spoken), "POST")
            for spoken in (COMPLETIONS, RESPONSES)
        )
        self.routes = [*forwarded, models, model]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with httpx.AsyncClient(headers=self._headers, timeout=LONGEST_ANSWER) as self._http:
            yield

    def _route(
        self, path: str, answer: Callable[[Request], Awaitable[Response]], method: str
    ) -> Route:
        """A route whose errors are OpenAI's error objects."""

        async def handle(_: MatchServer, request: Request) -> Response:
            try:
                return await answer(request)
            except Elsewhere:
                raise
            except Exception as error:
                failure, status = refusal(error)
                if status == 500:
                    log.exception("a request to %s failed: %s", path, cause(error))
                self._server.refuse(error)
                return _refused(failure.error, failure.kind, status)

        return Route(f"/v1{path}", answer_errors(self._server, handle), methods=[method])

    async def _forward(self, spoken: Format, request: Request) -> Response:
        key = self._server.seat(bearer(request))
        asked = await read(request, dict[str, Any])
        spoken.check(asked)
        self._server.check_capture(key)
        sent = {name: value for name, value in asked.items() if name not in STREAM}
        started = time.perf_counter()
        status, body = await self._ask(
            "POST", spoken.path, json=spoken.with_tokens(sent) if self._tokens else sent
        )
        if status != 200:
            return _failed(spoken.path, status, body)
        try:
            exchange = spoken.exchange(asked, body, time.perf_counter() - started)
            streamed = spoken.as_stream(asked, body) if asked.get("stream") else b""
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RequestRefused(
                f"the model server's reply cannot be read: {cause(error)}", 502
            ) from None
        self._server.capture(key, exchange)
        if streamed:
            return Response(streamed, media_type="text/event-stream")
        return Response(body, media_type="application/json")

    async def _models(self, request: Request) -> Response:
        self._server.seat(bearer(request))
        path = "/models"
        if name := request.path_params.get("model", ""):
            if {"", ".", ".."} & set(name.split("/")):  # no other route of the model server
                raise RequestRefused(f"no model {show(name)}; GET /v1/models lists them", 404)
            path += f"/{quote(name, safe='')}"
        status, body = await self._ask("GET", path)
        if status != 200:
            return _failed(path, status, body)
        return Response(body, media_type="application/json")

    async def _ask(self, method: str, path: str, json: Any = None) -> tuple[int, bytes]:
        """Ask the model server, without streaming; returns its status and body."""
        assert self._http is not None, "the dialect is not running"
        body = bytearray()
        try:
            async with self._http.stream(method, self._upstream + path, json=json) as answer:
                async for part in answer.aiter_bytes():
                    body += part
                    if len(body) > MOST_BYTES:
                        raise RequestRefused(
                            f"the model server's reply has over {MOST_BYTES} bytes", 502
                        )
                return answer.status_code, bytes(body)
        except httpx.HTTPError as error:
            log.error("the model server cannot be reached: %s", cause(error))
            raise RequestRefused(
                "the model server cannot be reached; the log says why", 502
            ) from error


def _failed(path: str, status: int, body: bytes) -> Response:
    """The model server's own error; in OpenAI's form also where it has another."""
    number = status if status >= 400 else 502
    try:
        msgspec.json.decode(body, type=_Refused)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        said = show(body.decode("utf-8", "replace"), 300)
        what = f"the model server answered {path[:100]} with status {status}: {said}"
        return _refused(what, "ModelServer", number)
    return Response(body, number, media_type="application/json")


def _refused(message: str, kind: str, status: int) -> Response:
    told = {"message": message, "type": kind, "code": None, "param": None}
    return Reply({"error": told}, status)
