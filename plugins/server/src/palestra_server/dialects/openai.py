"""`/v1/chat/completions`, which forwards requests to a language model and records them.

An agent framework plays a seat with this address as its `base_url` and the seat's token as its API
key. Its requests and replies between two answers of the seat are recorded with the second:
messages, reply, usage, and token ids and log-probabilities if the engine returns them. Tested with
openai 3.54; token ids are those of vLLM (`return_token_ids`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx
import msgspec
from palestra import InvalidOption, Usage
from palestra.agents.models import Tokens
from palestra.kernel.errors import cause, show
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from palestra_server.app import Reply, answer_errors, bearer, read
from palestra_server.capture import Exchange
from palestra_server.peers import Elsewhere
from palestra_server.refusals import refusal
from palestra_server.refused import RequestRefused
from palestra_server.server import MatchServer, SeatKey

log = logging.getLogger("palestra.server")
LONGEST_ANSWER = 600.0  # seconds that the model may take
MOST_BYTES = 16_000_000  # of one reply
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
TokenId = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
LogProb = Annotated[float, msgspec.Meta(ge=-1e9, le=1)]  # above 0 by rounding; sums stay finite


# The fields read from a completion; the client gets it unchanged


class _Details(msgspec.Struct):
    cached_tokens: Count | None = None


class _Used(msgspec.Struct):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: _Details | None = None


class _Token(msgspec.Struct):
    logprob: LogProb


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


class _Choice(msgspec.Struct):
    message: dict[str, Any]
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    logprobs: _Logprobs | None = None
    token_ids: list[TokenId] | None = None


class _Completion(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1, max_length=1)]
    id: str = ""
    created: int = 0
    model: str | None = None
    usage: _Used | None = None
    prompt_token_ids: list[TokenId] | None = None


_completions = msgspec.json.Decoder(_Completion)


class CaptureDialect:
    """The endpoint over a match server, before the model server at `upstream`.

    upstream: its base URL, as in `http://127.0.0.1:9000/v1`. key: its API key, which no client
    sees. tokens: ask it for token ids and log-probabilities, as vLLM gives them.
    """

    def __init__(
        self, server: MatchServer, upstream: str, key: str = "", *, tokens: bool = False
    ) -> None:
        if not upstream.startswith(("http://", "https://")):
            raise InvalidOption(f"upstream is a URL as in http://127.0.0.1:9000/v1, not {upstream}")
        self._server, self._tokens = server, tokens
        self._url = upstream.rstrip("/") + "/chat/completions"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http: httpx.AsyncClient | None = None
        handle = answer_errors(server, self._handle)
        self.routes = [Route("/v1/chat/completions", handle, methods=["POST"])]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with httpx.AsyncClient(headers=self._headers, timeout=LONGEST_ANSWER) as self._http:
            yield

    async def _handle(self, _: MatchServer, request: Request) -> Response:
        try:
            return await self._complete(request)
        except Elsewhere:
            raise
        except Exception as error:
            failure, status = refusal(error)
            if status == 500:
                log.exception("a chat completion failed: %s", cause(error))
            self._server.refuse(error)
            told = {"message": failure.error, "type": failure.kind, "code": None, "param": None}
            return Reply({"error": told}, status)

    async def _complete(self, request: Request) -> Response:
        key = self._server.seat(bearer(request))
        asked = await read(request, dict[str, Any])
        if asked.get("n") not in (None, 1):
            raise RequestRefused("n is 1 here: the record has one reply for each request", 400)
        options = asked.get("stream_options") or {}
        if not isinstance(options, dict):
            raise RequestRefused(
                f'stream_options is an object, as in {{"include_usage": true}}, '
                f"not {show(options)}",
                400,
            )
        self._server.check_capture(key)
        started = time.perf_counter()
        status, body = await self._pass_on(asked)
        if status != 200:
            return Response(body, status, media_type="application/json")
        try:
            completion = _completions.decode(body)
            streamed = _as_stream(body, options) if asked.get("stream") else b""
        except (msgspec.DecodeError, RecursionError) as error:
            raise RequestRefused(
                f"the model server's reply cannot be read: {cause(error)}", 502
            ) from None
        self._keep(key, asked, completion, time.perf_counter() - started)
        if streamed:
            return Response(streamed, media_type="text/event-stream")
        return Response(body, media_type="application/json")

    async def _pass_on(self, asked: dict[str, Any]) -> tuple[int, bytes]:
        """Ask the model server, without streaming; returns its status and body."""
        sent = {n: v for n, v in asked.items() if n not in ("stream", "stream_options")}
        if self._tokens:
            sent |= {"logprobs": True, "return_token_ids": True}
        assert self._http is not None, "the dialect is not running"
        body = bytearray()
        try:
            async with self._http.stream("POST", self._url, json=sent) as answer:
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

    def _keep(
        self, key: SeatKey, asked: dict[str, Any], completion: _Completion, seconds: float
    ) -> None:
        (choice,) = completion.choices
        said = choice.logprobs.content if choice.logprobs else None
        chances = None if said is None else tuple(token.logprob for token in said)
        exchange = Exchange(
            asked=asked,
            reply=choice.message,
            model=completion.model or "",
            usage=_usage(completion.usage, seconds),
            logprob=sum(chances) if chances else None,
            tokens=_tokens(completion, choice, chances),
        )
        self._server.capture(key, exchange)


def _usage(used: _Used | None, seconds: float) -> Usage:
    used = used or _Used()
    details = used.prompt_tokens_details or _Details()
    return Usage(
        tokens_in=used.prompt_tokens or 0,
        tokens_out=used.completion_tokens or 0,
        tokens_cached=details.cached_tokens or 0,
        calls=1,
        seconds=seconds,
    )


def _tokens(
    completion: _Completion, choice: _Choice, chances: tuple[float, ...] | None
) -> Tokens | None:
    """The exact tokens of an exchange; None unless ids and log-probabilities are all there."""
    prompt, reply = completion.prompt_token_ids, choice.token_ids
    if prompt is None or reply is None or chances is None or len(reply) != len(chances):
        return None
    ended = choice.finish_reason == "stop" and choice.stop_reason is None
    return Tokens(
        tuple(prompt), tuple(reply), chances, finish="end" if ended else choice.finish_reason or ""
    )


def _as_stream(body: bytes, options: dict[str, Any]) -> bytes:
    """A whole completion as the events of a streamed one; options: the client's of the stream."""
    whole = msgspec.json.decode(body)
    (choice,) = whole["choices"]
    head = {name: whole.get(name) for name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    delta = dict(choice["message"])
    if isinstance(calls := delta.get("tool_calls"), list):
        delta["tool_calls"] = [
            {"index": place, **made} if isinstance(made, dict) else made
            for place, made in enumerate(calls)
        ]
    reason = choice.get("finish_reason")
    said = {"index": 0, "delta": delta, "logprobs": choice.get("logprobs")}
    chunks = [
        {**head, "choices": [{**said, "finish_reason": None}]},
        {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
    ]
    if options.get("include_usage"):
        chunks.append({**head, "choices": [], "usage": whole.get("usage")})
    events = [*(msgspec.json.encode(chunk) for chunk in chunks), b"[DONE]"]
    return b"".join(b"data: " + event + b"\n\n" for event in events)
