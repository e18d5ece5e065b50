"""`openai:<model>@<base_url>`: any server that speaks OpenAI's chat completions.

Requests go out in parallel. What may pass (a time-out, 429, 5xx, a lost connection) is tried again
with growing pauses, as long as the server asks for where it says so. The key comes from
OPENAI_API_KEY, the address, where none is given, from OPENAI_BASE_URL or the library's default.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from palestra import InvalidOption, MissingExtra, ModelError, UnknownName
from palestra.agents.budget import Usage
from palestra.agents.models import Ability, Model, Reply, Request

try:
    import openai
except ImportError as error:
    raise MissingExtra("the openai client", "palestra-agents[openai]") from error

LOOPBACK = ("http://127.0.0.1", "http://localhost", "http://[::1]")
STRUCTURED = ("schema", "vllm", "none")
MOVE = "move"


class OpenAIModel(Model):
    """`target` is `model@base_url` or only `model`.

    concurrency: requests in flight at once. per_minute: at most so many requests are started in a
    minute. timeout: seconds an answer may take, retries: how often one is asked for again.
    structured: how a reply is held to the legal moves. "schema" (a JSON schema, which most servers
    know), "vllm" (vLLM's own fields, which also know patterns) or "none".
    """

    abilities: ClassVar[frozenset[Ability]] = frozenset({"choices"})

    def __init__(
        self,
        *,
        target: str = "",
        concurrency: int = 64,
        per_minute: float | None = None,
        timeout: float = 60.0,
        retries: int = 5,
        structured: str = "schema",
    ) -> None:
        model, _, url = target.partition("@")
        if not model:
            raise InvalidOption("openai: needs a model, as in openai:NAME@http://127.0.0.1:8000/v1")
        if structured not in STRUCTURED:
            raise UnknownName("value of structured", structured, STRUCTURED)
        if concurrency < 1:
            raise InvalidOption(f"concurrency is 1 or more, not {concurrency}")
        self.name, self._model, self._structured = f"openai:{target}", model, structured
        if structured == "vllm":
            self.abilities = self.abilities | {"pattern"}  # type: ignore[misc]
        key = os.environ.get("OPENAI_API_KEY") or ("none" if url.startswith(LOOPBACK) else None)
        if key is None:
            raise ModelError(f"{self.name} needs a key; set OPENAI_API_KEY")
        self._client = openai.OpenAI(
            api_key=key, base_url=url or None, timeout=timeout, max_retries=retries
        )
        self._pace = _Pace(per_minute)
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="openai")

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return list(self._pool.map(self._ask, requests))

    def _ask(self, request: Request) -> Reply:
        self._pace.wait()
        try:
            answer = self._client.chat.completions.create(**self._body(request))
            return self._reply(request, answer)
        except openai.AuthenticationError as error:
            raise ModelError(f"{self.name} refused the key; check OPENAI_API_KEY") from error
        except openai.RateLimitError as error:
            raise ModelError(
                f"{self.name} keeps answering 429, too many requests; give per_minute=… or a "
                "smaller concurrency"
            ) from error
        except openai.APITimeoutError as error:
            raise ModelError(
                f"{self.name} did not answer within {self._client.timeout} s; give timeout=…"
            ) from error
        except openai.APIConnectionError as error:
            raise ModelError(
                f"{self.name} cannot be reached; is the server running at {self._client.base_url}?"
            ) from error
        except openai.BadRequestError as error:
            if _too_long(str(error)):
                return Reply("", overflow=True, model=self.name)
            raise ModelError(f"{self.name} refused the request: {error}") from error
        except openai.OpenAIError as error:
            raise ModelError(f"{self.name}: {error}") from error
        except (ValueError, TypeError, AttributeError, LookupError) as error:
            raise ModelError(
                f"{self.name} answered something that is not a chat completion: {error}"
            ) from error

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": message.role, "content": message.content} for message in request.messages
            ],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "logprobs": True,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        return body | self._held(request)

    def _held(self, request: Request) -> dict[str, Any]:
        """The fields that hold a reply to choices or to a pattern."""
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

    def _reply(self, request: Request, answer: Any) -> Reply:
        choice = answer.choices[0]
        text = choice.message.content or ""
        if self._structured == "schema" and request.choices:
            text = _move_in(text)
        chances = choice.logprobs.content if choice.logprobs and choice.logprobs.content else None
        return Reply(
            text,
            _usage(answer.usage),
            logprob=sum(token.logprob for token in chances) if chances else None,
            model=answer.model,
            thought=getattr(choice.message, "reasoning_content", None) or "",
        )

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._client.close()


class _Pace:
    """Lets requests start evenly, at most so many a minute."""

    def __init__(self, per_minute: float | None) -> None:
        if per_minute is not None and per_minute <= 0:
            raise InvalidOption(f"per_minute is more than 0, not {per_minute}")
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next, self._lock = 0.0, threading.Lock()

    def wait(self) -> None:
        if not self._gap:
            return
        with self._lock:
            start = max(self._next, time.monotonic())
            self._next = start + self._gap
        time.sleep(max(0.0, start - time.monotonic()))


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage(calls=1)
    details = usage.prompt_tokens_details
    return Usage(
        tokens_in=usage.prompt_tokens,
        tokens_out=usage.completion_tokens,
        tokens_cached=(details.cached_tokens or 0) if details else 0,
        calls=1,
    )


def _move_in(text: str) -> str:
    """The move of a schema's object; text that is none (cut off, say) is left for the game."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        return str(json.loads(text, strict=False)[MOVE])
    return text


def _too_long(message: str) -> bool:
    return "context" in message and ("length" in message or "window" in message)
