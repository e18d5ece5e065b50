"""OpenAI's responses, as an endpoint of the capture reads and writes them.

They are recorded as chat completions are: the instructions are the first message, the items of the
input are the others, and the reply is a message whose `output` has the items that came back. Token
ids are those of vLLM (`enable_response_messages`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec
from palestra.llm.completion_fields import (
    Count,
    Details,
    TokenChance,
    TokenId,
    ids_with,
)

from palestra_server.capture import Exchange
from palestra_server.dialects.formats import Format, used
from palestra_server.refused import RequestRefused

ELSEWHERE = ("previous_response_id", "conversation", "prompt", "background")
LOGPROBS = "message.output_text.logprobs"
ENDS = ("completed", "incomplete", "failed")

# The fields read from a response; the client gets it unchanged


class _Used(msgspec.Struct):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    input_tokens_details: Details | None = None


class _Part(msgspec.Struct):
    type: str = ""
    text: str | None = None
    logprobs: list[TokenChance] | None = None


class _Item(msgspec.Struct):
    type: str = ""
    content: list[_Part] | None = None


class _Raw(msgspec.Struct):
    tokens: list[TokenId] | None = None


class _Cut(msgspec.Struct):
    reason: str | None = None


class _Response(msgspec.Struct):
    output: list[_Item]
    model: str | None = None
    status: str | None = None
    usage: _Used | None = None
    incomplete_details: _Cut | None = None
    input_messages: list[_Raw] | None = None
    output_messages: list[_Raw] | None = None


class _Items(msgspec.Struct):
    output: list[dict[str, Any]]


_responses = msgspec.json.Decoder(_Response)
_items = msgspec.json.Decoder(_Items)


def _check(asked: dict[str, Any]) -> None:
    for name in ELSEWHERE:
        if asked.get(name):
            raise RequestRefused(
                f"{name} is not available here: the record has what the model reads; "
                "send the whole conversation as input",
                400,
            )


def _with_tokens(asked: dict[str, Any]) -> dict[str, Any]:
    include = asked.get("include")
    wanted = [*include, LOGPROBS] if isinstance(include, list) else [LOGPROBS]
    return {**asked, "include": wanted, "enable_response_messages": True}


def _exchange(asked: dict[str, Any], body: bytes, seconds: float) -> Exchange:
    response = _responses.decode(body)
    usage = response.usage or _Used()
    details = usage.input_tokens_details or Details()
    parts = [part for item in response.output for part in _texts(item)]
    said = "".join(part.text or "" for part in parts)
    known = [token.logprob for part in parts for token in part.logprobs or ()]
    chances = tuple(known) if known else None
    return Exchange(
        asked=_as_messages(asked),
        reply={"role": "assistant", "content": said, "output": _items.decode(body).output},
        model=response.model or "",
        usage=used(usage.input_tokens, usage.output_tokens, details.cached_tokens, seconds=seconds),
        logprob=sum(chances) if chances else None,
        tokens=ids_with(
            _ids(response.input_messages),
            _ids(response.output_messages),
            chances,
            finish=_finish(response),
        ),
    )


def _texts(item: _Item) -> list[_Part]:
    """The parts of a message that are text; none of other items, such as reasoning."""
    if item.type != "message":
        return []
    return [part for part in item.content or () if part.type == "output_text"]


def _ids(messages: list[_Raw] | None) -> list[int] | None:
    """The token ids of a prompt or reply that is one raw message."""
    return messages[0].tokens if messages and len(messages) == 1 else None


def _finish(response: _Response) -> str:
    if response.status == "completed":
        return "end"
    reason = response.incomplete_details and response.incomplete_details.reason
    return "length" if reason == "max_output_tokens" else reason or ""


def _as_messages(asked: dict[str, Any]) -> dict[str, Any]:
    """A request whose prompt is a list of messages, as the record has it."""
    told, given = asked.get("instructions"), asked.get("input")
    first = [] if told is None else [{"role": "system", "content": told}]
    items = given if isinstance(given, list) else [{"role": "user", "content": given}]
    settings = {n: v for n, v in asked.items() if n not in ("instructions", "input")}
    return {**settings, "messages": [*first, *items]}


def _as_stream(_: dict[str, Any], body: bytes) -> bytes:
    """A whole response as the events of a streamed one."""
    whole = msgspec.json.decode(body)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    end = whole.get("status") if whole.get("status") in ENDS else "completed"
    events = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        *(event for place, item in enumerate(whole["output"]) for event in _told(place, item)),
        {"type": f"response.{end}", "response": whole},
    ]
    numbered = zip(count(), events, strict=False)
    return b"".join(_event({**event, "sequence_number": number}) for number, event in numbered)


def _event(event: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (event["type"].encode(), msgspec.json.encode(event))


def _told(place: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of one item of the output."""
    at = {"output_index": place, "item_id": item.get("id")}
    kind, empty = item.get("type"), {**item, "status": "in_progress"}
    parts = item.get("content") if kind == "message" else None
    inner: list[dict[str, Any]] = []
    if kind == "message":
        empty["content"] = []
        for number, part in enumerate(parts or ()):
            inner += _told_part({**at, "content_index": number}, part)
    elif kind == "function_call":
        empty["arguments"] = ""
        said = item.get("arguments")
        name = "response.function_call_arguments"
        inner.append({"type": f"{name}.delta", **at, "delta": said})
        inner.append({"type": f"{name}.done", **at, "name": item.get("name"), "arguments": said})
    yield {"type": "response.output_item.added", "output_index": place, "item": empty}
    yield from inner
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _told_part(at: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one part of a message: text or a refusal."""
    field = "refusal" if part.get("type") == "refusal" else "text"
    name = f"response.{'refusal' if field == 'refusal' else 'output_text'}"
    chances = {} if field == "refusal" else {"logprobs": part.get("logprobs") or []}
    said = part.get(field)
    return [
        {"type": "response.content_part.added", **at, "part": {**part, field: ""}},
        {"type": f"{name}.delta", **at, **chances, "delta": said},
        {"type": f"{name}.done", **at, **chances, field: said},
        {"type": "response.content_part.done", **at, "part": part},
    ]


RESPONSES = Format("/responses", _check, _with_tokens, _exchange, _as_stream)
