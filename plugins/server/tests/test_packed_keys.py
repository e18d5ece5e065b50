"""Keys that msgpack gives twice are found however it is written: by a second writer, of its own."""

import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra.single_keys import RepeatedKey
from palestra_server.packed_keys import NotShort, refuse_repeated_keys

WORDS = st.text(max_size=40)
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | WORDS
VALUES = st.recursive(
    LEAVES | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(WORDS, inner, max_size=20),
    max_leaves=30,
)


def wide(value, twice):
    """A value with lengths of four bytes, and the first key of each map again if `twice`."""
    if isinstance(value, dict):
        pairs = [wide(key, twice) + wide(one, twice) for key, one in value.items()]
        pairs += pairs[:1] if twice else []
        return struct.pack(">BI", 0xDF, len(pairs)) + b"".join(pairs)
    if isinstance(value, list):
        return struct.pack(">BI", 0xDD, len(value)) + b"".join(wide(one, twice) for one in value)
    if isinstance(value, str):
        return struct.pack(">BI", 0xDB, len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return struct.pack(">BI", 0xC6, len(value)) + value
    return msgspec.msgpack.encode(value)


def has_keys(value):
    if isinstance(value, dict):
        return bool(value)
    return isinstance(value, list) and any(map(has_keys, value))


@given(VALUES)
def test_keys_are_found_twice_where_they_are(value):
    refuse_repeated_keys(msgspec.msgpack.encode(value))
    refuse_repeated_keys(wide(value, twice=False))
    if has_keys(value):
        with pytest.raises(RepeatedKey):
            refuse_repeated_keys(wide(value, twice=True))


def test_a_key_is_the_same_in_another_form():
    short, long = b"\xa2do", struct.pack(">BI", 0xDB, 2) + b"do"
    with pytest.raises(RepeatedKey, match="'do'"):
        refuse_repeated_keys(b"\x82" + short + b"\x01" + long + b"\x02")
    for extension in (b"\xd4\x01a", b"\xd8\x01" + b"a" * 16, b"\xc7\x03\x01abc"):
        with pytest.raises(RepeatedKey):
            refuse_repeated_keys(b"\x92" + extension + b"\x82" + 2 * (short + b"\xca" + bytes(4)))


def test_long_frames_are_short_or_refused():
    long = ["word"] * 30_000
    refuse_repeated_keys(msgspec.msgpack.encode(long))
    with pytest.raises(NotShort, match="shortest form"):
        refuse_repeated_keys(wide(long, twice=False))
