"""How OpenAI's endpoints write requests and replies, as the capture forwards and records them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from palestra import Usage

from palestra_server.capture import Exchange


@dataclass(frozen=True, slots=True)
class Format:
    """An endpoint's requests and replies.

    path: where it is under the base URL. check: raises `RequestRefused` for a request that cannot
    be recorded. with_tokens: the request that asks for token ids too. exchange: what is recorded of
    a request and the bytes of its reply, which took so many seconds; raises
    `msgspec.DecodeError`. as_stream: the reply to a request, as the events of a streamed one.
    """

    path: str
    check: Callable[[dict[str, Any]], None]
    with_tokens: Callable[[dict[str, Any]], dict[str, Any]]
    exchange: Callable[[dict[str, Any], bytes, float], Exchange]
    as_stream: Callable[[dict[str, Any], bytes], bytes]


def used(
    tokens_in: int | None, tokens_out: int | None, tokens_cached: int | None, *, seconds: float
) -> Usage:
    """The usage of one request, whose counts may be missing."""
    return Usage(
        tokens_in=tokens_in or 0,
        tokens_out=tokens_out or 0,
        tokens_cached=tokens_cached or 0,
        calls=1,
        seconds=seconds,
    )
