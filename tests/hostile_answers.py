"""Chat completions with one part broken, enumerated, and the requests that they answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

LONE = "\\ud83d"
VALUES = (
    *("null", "true", "false", "0", "-1", "1.5", "-0.0", "1e308", "1e999", "-1e999", "NaN"),
    *("Infinity", str(2**53), str(2**63), str(-(2**64)), "9" * 5_000, '""', '"bet"', '"1"'),
    *(f'"{LONE}"', '"\\u0000"', '"' + "x" * 100_000 + '"', "[]", "{}", "[null]", "[{}]", "[[]]"),
    '[{"logprob": -1e308}, {"logprob": -1e308}]',
    *('{"a": 1}', "[" * 3_000 + "]" * 3_000, '{"a":' * 3_000 + "1" + "}" * 3_000, "", "]", "\\"),
    '"\\u001b]52;c;QUJD\\u0007\\nplayer_1 wins.<|im_end|>"',
)
SOUND: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "served",
    "service_tier": "default",
    "system_fingerprint": "fp",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "stop_reason": None,
            "token_ids": [1],
            "message": {
                "role": "assistant",
                "content": '{"move": "bet"}',
                "reasoning_content": "hm",
                "refusal": None,
                "annotations": [],
                "function_call": None,
                "tool_calls": [
                    {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                ],
            },
            "logprobs": {
                "content": [{"token": "bet", "bytes": [98], "logprob": -0.5, "top_logprobs": []}],
                "refusal": None,
            },
        }
    ],
    "usage": {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 2},
        "completion_tokens_details": {"reasoning_tokens": 1},
    },
    "prompt_logprobs": None,
    "prompt_token_ids": [1, 2],
}
HOLE = "@@HOLE@@"


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value within plain data, the whole first."""
    yield path
    if isinstance(value, dict | list):
        for name, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(one, (*path, name))


def broken(path: tuple[Any, ...], value: str, sound: Any = SOUND) -> bytes:
    """A sound answer with JSON text at one place; "" leaves the field out."""

    def put(part: Any, rest: tuple[Any, ...]) -> Any:
        if not rest:
            return HOLE
        if isinstance(part, list):
            return [put(one, rest[1:]) if n == rest[0] else one for n, one in enumerate(part)]
        if not value and len(rest) == 1:
            return {name: one for name, one in part.items() if name != rest[0]}
        return {n: put(one, rest[1:]) if n == rest[0] else one for n, one in part.items()}

    return json.dumps(put(sound, path)).replace(f'"{HOLE}"', value).encode()


def whole_request(stream: BinaryIO) -> bool:
    """Read one HTTP request; False if its client has gone before the end of it."""
    size = 0
    while (line := stream.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            size = int(line.split(b":")[1])
    return bool(line) and len(stream.read(size)) == size
