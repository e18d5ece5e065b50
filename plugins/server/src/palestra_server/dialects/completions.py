"""OpenAI's chat completions, as an endpoint of the capture reads and writes them."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from palestra.agents.models import Tokens
from palestra.kernel.errors import show
from palestra.llm.completion_fields import (
    Details,
    Logprobs,
    TokenId,
    Used,
    finish_of,
    ids_with,
)

from palestra_server.capture import Exchange
from palestra_server.dialects.formats import Format, used
from palestra_server.refused import RequestRefused

# The fields read from a completion; the client gets it unchanged


class _Choice(msgspec.Struct):
    message: dict[str, Any]
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    logprobs: Logprobs | None = None
    token_ids: list[TokenId] | None = None


class _Completion(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1, max_length=1)]
    id: str = ""
    created: int = 0
    model: str | None = None
    usage: Used | None = None
    prompt_token_ids: list[TokenId] | None = None


_completions = msgspec.json.Decoder(_Completion)


def _check(asked: dict[str, Any]) -> None:
    if asked.get("n") not in (None, 1):
        raise RequestRefused("n is 1 here: the record has one reply for each request", 400)
    options = asked.get("stream_options") or {}
    if not isinstance(options, dict):
        raise RequestRefused(
            f'stream_options is an object, as in {{"include_usage": true}}, not {show(options)}',
            400,
        )


def _with_tokens(asked: dict[str, Any]) -> dict[str, Any]:
    return {**asked, "logprobs": True, "return_token_ids": True}


def _exchange(asked: dict[str, Any], body: bytes, seconds: float) -> Exchange:
    completion = _completions.decode(body)
    (choice,) = completion.choices
    said = choice.logprobs.content if choice.logprobs else None
    chances = None if said is None else tuple(token.logprob for token in said)
    usage = completion.usage or Used()
    details = usage.prompt_tokens_details or Details()
    return Exchange(
        asked=asked,
        reply=choice.message,
        model=completion.model or "",
        usage=used(
            usage.prompt_tokens, usage.completion_tokens, details.cached_tokens, seconds=seconds
        ),
        logprob=sum(chances) if chances else None,
        tokens=_tokens(completion, choice, chances),
    )


def _tokens(
    completion: _Completion, choice: _Choice, chances: tuple[float, ...] | None
) -> Tokens | None:
    finish = finish_of(choice.finish_reason, choice.stop_reason)
    return ids_with(completion.prompt_token_ids, choice.token_ids, chances, finish=finish)


def _as_stream(asked: dict[str, Any], body: bytes) -> bytes:
    """A whole completion as the events of a streamed one."""
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
    if (asked.get("stream_options") or {}).get("include_usage"):
        chunks.append({**head, "choices": [], "usage": whole.get("usage")})
    events = [*(msgspec.json.encode(chunk) for chunk in chunks), b"[DONE]"]
    return b"".join(b"data: " + event + b"\n\n" for event in events)


COMPLETIONS = Format("/chat/completions", _check, _with_tokens, _exchange, _as_stream)
