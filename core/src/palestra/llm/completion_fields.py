"""Parts of OpenAI's chat completions that are read wherever one arrives; others are ignored."""

from __future__ import annotations

from typing import Annotated

import msgspec

from palestra.agents.models import Tokens

Count = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
TokenId = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
LogProb = Annotated[float, msgspec.Meta(ge=-1e9, le=1)]  # above 0 by rounding; sums stay finite


class Details(msgspec.Struct):
    cached_tokens: Count | None = None


class Used(msgspec.Struct):
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    prompt_tokens_details: Details | None = None


class TokenChance(msgspec.Struct):
    logprob: LogProb


class Logprobs(msgspec.Struct):
    content: list[TokenChance] | None = None


def ids_with(
    prompt: list[int] | None,
    reply: list[int] | None,
    logprobs: tuple[float, ...] | None,
    *,
    finish: str,
) -> Tokens | None:
    """The exact tokens of an exchange; None unless ids and log-probabilities are all there."""
    if prompt is None or reply is None or logprobs is None or len(reply) != len(logprobs):
        return None
    return Tokens(tuple(prompt), tuple(reply), logprobs, finish=finish)


def finish_of(reason: str | None, stop: int | str | None) -> str:
    """`Tokens.finish` by a choice's `finish_reason` and vLLM's `stop_reason`."""
    return "end" if reason == "stop" and stop is None else reason or ""
