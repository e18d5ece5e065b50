"""JSON whose objects give each key once: readers differ in which of two values they take."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from palestra.kernel.errors import show


class RepeatedKey(ValueError):
    """An object of JSON gives a key twice; the message names the key."""


def single(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs of an object as a dictionary; raises `RepeatedKey`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, times in counts.items() if times > 1)
        raise RepeatedKey(f"the key {show(twice)} is given twice; give it once")
    return found


def read_single(text: str | bytes, *, strict: bool = True) -> Any:
    """The value of a JSON text; `strict=False` takes control characters in strings.

    Raises `RepeatedKey`, and ValueError or RecursionError for what is not JSON.
    """
    return json.loads(text, strict=strict, object_pairs_hook=single)


def refuse_repeated_keys(text: str | bytes) -> None:
    """Raise `RepeatedKey` if an object of a valid JSON text gives a key twice."""
    # Numbers stay texts: Python refuses those of thousands of digits with an error of its own.
    json.loads(text, object_pairs_hook=single, parse_int=str, parse_float=str)
