"""`openai:<model>@<base_url>`: any server that speaks OpenAI's chat completions.

Requests run in parallel from a single thread. Transient errors (a time-out, 429, 5xx, a lost
connection) are retried with growing pauses, or after the time the server asks for. The address, if
none is given, is OPENAI_BASE_URL or OpenAI's own.

OPENAI_API_KEY is sent to these two alone. For any other address the option `key` names the
environment variable with its key; this machine's own addresses need none.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import os
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from palestra import InvalidOption, MissingExtra, ModelError, UnknownName
from palestra.agents.budget import Usage
from palestra.agents.models import (
    Ability,
    Message,
    Model,
    PartialReplies,
    Reply,
    Request,
    ToolCall,
)
from palestra.kernel.errors import show
from palestra.llm.completion_fields import Logprobs, TokenId, Used, finish_of, ids_with

try:
    import httpx
    import openai
except ImportError as error:
    raise MissingExtra("the openai client", "palestra-agents[openai]") from error

OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "none"
STRUCTURED = ("schema", "vllm", "none")
MOVE = "move"
MOST_BYTES = 32 * 2**20  # limit for one answer; no completion is longer
LONGEST_PAUSE = 60.0  # most seconds that a server may ask us to wait
FIRST_PAUSE, GROWN_PAUSE = 0.5, 8.0  # pauses if the server names none
Result = TypeVar("Result")


class OpenAIModel(Model):
    """`target` is `model@base_url` or only `model`.

    concurrency: most requests in flight at once. per_minute: most requests started in a minute.
    timeout: seconds from the first byte sent to the last byte of the answer. retries: most retries
    of a request. structured: how a reply is constrained to legal moves: "schema" (a JSON schema,
    which most servers support), "vllm" (vLLM's own fields, which also support patterns) or "none".
    key: the environment variable with the key for this address, or "none" to send none. token_ids:
    whether the server returns the ids of its tokens where it is asked to (`return_token_ids`, as
    vLLM's server does), which `keep_tokens` needs.
    """

    abilities: ClassVar[frozenset[Ability]] = frozenset({"choices", "tools"})

    def __init__(
        self,
        *,
        target: str = "",
        concurrency: int = 64,
        per_minute: float | None = None,
        timeout: float = 60.0,
        retries: int = 5,
        structured: str = "schema",
        key: str = "",
        token_ids: bool = False,
    ) -> None:
        model, _, url = target.partition("@")
        if not model:
            raise InvalidOption("openai: needs a model, as in openai:NAME@http://127.0.0.1:8000/v1")
        if structured not in STRUCTURED:
            raise UnknownName("value of structured", structured, STRUCTURED)
        if concurrency < 1:
            raise InvalidOption(f"concurrency is 1 or more, not {concurrency}")
        if not 0 < timeout < float("inf"):
            raise InvalidOption(f"timeout is a number of seconds above 0, not {timeout}")
        self.name, self._model, self._structured = f"openai:{target}", model, structured
        held: dict[str, set[Ability]] = {"schema": {"choices"}, "vllm": {"choices", "pattern"}}
        kept: set[Ability] = {"tokens"} if token_ids else set()
        self.abilities = frozenset({"tools", *held.get(structured, ()), *kept})  # type: ignore[misc]
        self._url = url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
        self._key_from = key or "OPENAI_API_KEY"
        self._key = _key_for(self.name, self._url, key)
        self._timeout, self._retries = timeout, retries
        self._pace, self.concurrency = _Pace(per_minute), concurrency
        self._loop: _Loop | None = None
        self._opening = threading.Lock()

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        replies = self._open_loop().run(self._ask_all(requests))
        failed = [reply for reply in replies if isinstance(reply, ModelError)]
        if failed and len(replies) == 1:
            raise failed[0]
        if failed:
            raise PartialReplies(replies)
        return [reply for reply in replies if isinstance(reply, Reply)]

    def _open_loop(self) -> _Loop:
        with self._opening:
            if self._loop is None:
                self._client = openai.AsyncOpenAI(
                    api_key=self._key,
                    base_url=self._url,
                    timeout=self._timeout,
                    max_retries=0,  # retries happen here, within one limit for the whole answer
                    http_client=_Bounded(),
                )
                self._slots = asyncio.Semaphore(self.concurrency)
                self._loop = _Loop()  # last: whoever closes this meanwhile closes what is there
            return self._loop

    async def _ask_all(self, requests: Sequence[Request]) -> list[Reply | ModelError]:
        return await asyncio.gather(*map(self._ask, requests))

    async def _ask(self, request: Request) -> Reply | ModelError:
        """The reply to one request, or the error, which does not affect other requests."""
        answer = b""
        try:
            async with self._slots:
                await asyncio.sleep(self._pace.pause())
                answer = await self._answer(self._body(request))
                return self._reply(request, answer)
        except openai.BadRequestError as error:
            if _too_long(str(error)):
                return Reply("", overflow=True, model=self.name)
            return ModelError(f"{self.name} refused the request: {show(str(error), 500)}")
        except (openai.OpenAIError, TimeoutError, _TooMuch) as error:
            return ModelError(f"{self.name} {self._problem(error)}")
        except ModelError as error:
            return error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            said = f"answered something that is not a chat completion: {error}"
            said += f"; it begins with {show(answer[:200].decode('utf-8', 'replace'), 200)}"
            return ModelError(f"{self.name} {said}")

    def _problem(self, error: Exception) -> str:
        """An error message for a failed request: the problem and what to do."""
        if isinstance(error, openai.AuthenticationError):
            if self._key == NO_KEY:
                return "wants a key; give key=NAME, the environment variable that holds it"
            return f"refused the key; check {self._key_from}"
        if isinstance(error, openai.RateLimitError):
            return (
                "keeps answering 429, too many requests; give per_minute=… or a smaller concurrency"
            )
        if isinstance(error, TimeoutError | openai.APITimeoutError):
            return f"did not answer within {self._timeout} s; give timeout=…"
        if isinstance(error, openai.APIConnectionError):
            why = f" ({show(str(error.__cause__))})" if error.__cause__ else ""
            return f"cannot be reached; is the server running at {self._client.base_url}?{why}"
        return f"failed: {show(str(error), 500)}"

    async def _answer(self, body: dict[str, Any]) -> bytes:
        """The server's answer to a request, retried while that may help."""
        attempt = 0
        while True:
            try:
                async with asyncio.timeout(self._timeout):
                    ask = self._client.chat.completions.with_raw_response.create
                    content: bytes = (await ask(**body)).content
                    return content
            except (TimeoutError, openai.APIConnectionError, openai.APIStatusError) as error:
                if attempt == self._retries or not _may_pass(error):
                    raise
                pause = _pause(error, attempt)
            attempt += 1
            await asyncio.sleep(pause)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": list(map(_written, request.messages)),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "logprobs": True,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        if request.tools:
            body["tools"] = [tool.openai() for tool in request.tools]
            body["parallel_tool_calls"] = False
        held = self._held(request)
        if request.tokens:
            held["extra_body"] = {**held.get("extra_body", {}), "return_token_ids": True}
        return body | held

    def _held(self, request: Request) -> dict[str, Any]:
        """The request fields that constrain a reply to choices or a pattern."""
        if self._structured == "vllm" and (request.choices or request.pattern):
            held = {"choice": request.choices} if request.choices else {"regex": request.pattern}
            return {"extra_body": {"structured_outputs": held}}
        if self._structured == "schema" and request.choices:
            schema = {
                "type": "object",
                "properties": {MOVE: {"type": "string", "enum": list(request.choices)}},
                "required": [MOVE],
                "additionalProperties": False,
            }
            named = {"name": MOVE, "schema": schema, "strict": True}
            room = request.max_tokens + 16  # for the braces and the key
            return {
                "response_format": {"type": "json_schema", "json_schema": named},
                "max_tokens": room,
            }
        return {}

    def _reply(self, request: Request, answer: bytes) -> Reply:
        read = _completions.decode(answer)
        choice = read.choices[0]
        message = choice.message
        text = _text(message.content) or message.refusal or ""
        if self._structured == "schema" and request.choices:
            text = _move_in(text)
        said = choice.logprobs.content if choice.logprobs else None
        chances = None if said is None else tuple(token.logprob for token in said)
        finish = finish_of(choice.finish_reason, choice.stop_reason)
        tokens = ids_with(read.prompt_token_ids, choice.token_ids, chances, finish=finish)
        if request.tokens and tokens is None:
            raise ModelError(
                f"{self.name} returns no token ids with log-probabilities, as vLLM's server does "
                "where it is asked to; leave out token_ids and keep_tokens"
            )
        return Reply(
            text,
            _usage(read.usage),
            logprob=sum(chances) if chances else None,
            tokens=tokens if request.tokens else None,
            model=read.model or "",
            thought=message.reasoning_content or message.reasoning or "",
            calls=_calls(message) if request.tools else (),
            finish=finish,
        )

    def close(self) -> None:
        """Cancel open requests and close all connections."""
        if self._loop is not None:
            self._loop.close(self._client.close())
            self._loop = None


def _key_for(name: str, url: str, variable: str) -> str:
    """The key to send to an address; raises `ModelError` if there is none for it."""
    host, origin = _host_and_origin(name, url)
    if variable == NO_KEY:
        return NO_KEY
    own = [address for address in (OPENAI_URL, os.environ.get("OPENAI_BASE_URL")) if address]
    is_own = origin in [_host_and_origin(name, address)[1] for address in own]
    if variable or is_own:
        if key := os.environ.get(variable or "OPENAI_API_KEY"):
            return key
        if variable or not _is_loopback(host):
            raise ModelError(f"{name} needs a key; set {variable or 'OPENAI_API_KEY'}")
    if _is_loopback(host):
        return NO_KEY
    raise ModelError(
        f"{name}: OPENAI_API_KEY is sent only to OpenAI and to OPENAI_BASE_URL, not to {origin}; "
        "give key=NAME, the environment variable with the key for this address, or key=none"
    )


def _host_and_origin(name: str, url: str) -> tuple[str, str]:
    """The host of an address, and with it its scheme and port, as the HTTP client reads them."""
    try:
        read = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InvalidOption(f"{name}: the address {show(url)} cannot be read: {error}") from None
    if read.scheme not in ("http", "https") or not read.host:
        raise InvalidOption(f"{name}: an address begins with http:// or https://, not {show(url)}")
    port = read.port or {"http": 80, "https": 443}[read.scheme]
    return read.host, f"{read.scheme}://{read.host}:{port}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Loop:
    """A thread with an event loop, for callers that may already run a loop of their own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="palestra-openai", daemon=True
        )
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run `work` and return its result; cancel it if the caller is interrupted."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self, last: Coroutine[Any, Any, None]) -> None:
        """Cancel running tasks, run `last`, and end the thread."""
        asyncio.run_coroutine_threadsafe(self._finish(last), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self, last: Coroutine[Any, Any, None]) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await last


class _TooMuch(Exception):
    """An answer longer than any completion."""


class _Bounded(openai.DefaultAsyncHttpxClient):
    """An HTTP client that streams an answer and gives up if it is too long."""

    async def send(self, request: Any, *, stream: bool = False, **settings: Any) -> Any:
        response = await super().send(request, stream=True, **settings)
        body = bytearray()
        try:
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MOST_BYTES:
                    raise _TooMuch(f"the answer is longer than {MOST_BYTES >> 20} MiB")
        finally:
            await response.aclose()
        headers = {
            name: value
            for name, value in response.headers.items()
            if name.lower() not in ("content-encoding", "transfer-encoding", "content-length")
        }
        return type(response)(
            response.status_code, headers=headers, content=bytes(body), request=request
        )


class _Pace:
    """Spaces requests evenly, up to a number per minute."""

    def __init__(self, per_minute: float | None) -> None:
        if per_minute is not None and per_minute <= 0:
            raise InvalidOption(f"per_minute is more than 0, not {per_minute}")
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    def pause(self) -> float:
        """Seconds until the next request may start."""
        if not self._gap:
            return 0.0
        now = time.monotonic()
        start = max(self._next, now)
        self._next = start + self._gap
        return start - now


# The parts of an answer that are read; other fields are ignored


class _Function(msgspec.Struct):
    name: str
    arguments: str | dict[str, Any] | None = ""  # some servers send an object for its text


class _Call(msgspec.Struct):
    function: _Function
    id: str | None = None


class _Part(msgspec.Struct):
    text: str | None = None  # None of a part of another type, such as a thought


class _Message(msgspec.Struct):
    content: str | list[_Part] | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None  # the newer name
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    logprobs: Logprobs | None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    token_ids: list[TokenId] | None = None


class _Completion(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    model: str | None = None
    usage: Used | None = None
    prompt_token_ids: list[TokenId] | None = None


_completions = msgspec.json.Decoder(_Completion)


def _text(content: str | list[_Part] | None) -> str:
    """What a message says; some servers send it in parts."""
    if isinstance(content, list):
        return "".join(part.text or "" for part in content)
    return content or ""


def _calls(message: _Message) -> tuple[ToolCall, ...]:
    calls = []
    for call in message.tool_calls or ():
        given = call.function.arguments or ""
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        calls.append(ToolCall(call.function.name, text, call.id or ""))
    return tuple(calls)


def _written(message: Message) -> dict[str, Any]:
    """A message as the API takes it."""
    written: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        written["content"] = message.content or None
        written["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    return written | ({"tool_call_id": message.answers} if message.answers else {})


def _usage(used: Used | None) -> Usage:
    if used is None:
        return Usage(calls=1)
    details = used.prompt_tokens_details
    return Usage(
        tokens_in=used.prompt_tokens or 0,
        tokens_out=used.completion_tokens or 0,
        tokens_cached=(details.cached_tokens or 0) if details else 0,
        calls=1,
    )


def _may_pass(error: Exception) -> bool:
    if isinstance(error, openai.APIStatusError):
        return error.status_code in (408, 409, 429) or error.status_code >= 500
    return True


def _pause(error: Exception, attempt: int) -> float:
    """Seconds to wait before a retry: the server's number, up to a limit."""
    if isinstance(error, openai.APIStatusError):
        for header, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            with contextlib.suppress(KeyError, ValueError):
                asked = float(error.response.headers[header]) * unit
                if asked >= 0:
                    return min(asked, LONGEST_PAUSE)
    return float(min(GROWN_PAUSE, FIRST_PAUSE * 2**attempt))


def _move_in(text: str) -> str:
    """The move in a schema's object; other text (cut off, for example) is left to the game."""
    with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
        return str(json.loads(text, strict=False)[MOVE])
    return text


def _too_long(message: str) -> bool:
    return "context" in message and ("length" in message or "window" in message)
