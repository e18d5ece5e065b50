"""Parts of OpenAI's chat completions that are read wherever one arrives; others are ignored."""

from __future__ import annotations

from typing import Annotated

import msgspec

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
