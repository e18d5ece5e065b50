"""Msgpack whose maps give each key once, as `palestra.single_keys` has it for JSON."""

from __future__ import annotations

import msgspec
from palestra.single_keys import single

# by the first byte, as the specification of msgpack has them
PLAIN = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8}  # bytes of nothing, of truth and of floats
PLAIN |= {0xCC + kind: 1 << kind % 4 for kind in range(8)}  # of integers
COUNTED = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xC7: 1, 0xC8: 2, 0xC9: 4}  # of the length of bytes
COUNTED |= {0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}  # texts, lists, maps


LONGEST = 100_000  # bytes that are walked through, which takes some 50 ms


class NotShort(ValueError):
    """Msgpack that is long, and not in its shortest form."""


def refuse_repeated_keys(packed: bytes) -> None:
    """Raise `RepeatedKey` if a map of valid msgpack gives a key twice, and perhaps `NotShort`."""
    # what is as we would write it has no key twice: only other forms are walked through
    if msgspec.msgpack.encode(msgspec.msgpack.decode(packed)) == packed:
        return
    if len(packed) > LONGEST:
        raise NotShort(
            f"msgpack of over {LONGEST} bytes is read in its shortest form alone, without a key "
            "that is given twice"
        )
    _walk(packed, 0)


def _walk(packed: bytes, at: int) -> int:
    """Look at the value at a place; returns where the next begins."""
    first = packed[at]
    at += 1
    if first < 0x80 or first >= 0xE0:  # a small integer
        return at
    if first < 0x90:
        return _walk_map(packed, at, first & 0x0F)
    if first < 0xA0:
        return _walk_list(packed, at, first & 0x0F)
    if first < 0xC0:  # a short text
        return at + (first & 0x1F)
    if first in PLAIN:
        return at + PLAIN[first]
    if first not in COUNTED:  # an extension of 1 to 16 bytes, after its type
        return at + 1 + (1 << first - 0xD4)
    size = COUNTED[first]
    count = int.from_bytes(packed[at : at + size], "big")
    at += size
    if first >= 0xDE:
        return _walk_map(packed, at, count)
    if first >= 0xDC:
        return _walk_list(packed, at, count)
    return at + count + (0xC7 <= first <= 0xC9)


def _walk_list(packed: bytes, at: int, count: int) -> int:
    for _ in range(count):
        at = _walk(packed, at)
    return at


def _walk_map(packed: bytes, at: int, count: int) -> int:
    pairs = []
    for _ in range(count):
        end = _walk(packed, at)
        pairs.append((str(msgspec.msgpack.decode(packed[at:end])), None))
        at = _walk(packed, end)
    single(pairs)
    return at
