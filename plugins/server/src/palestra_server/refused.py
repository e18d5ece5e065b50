"""A request that is not allowed, and reading what clients send."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec
from palestra.kernel.errors import PalestraError
from palestra.single_keys import RepeatedKey, refuse_repeated_keys

from palestra_server import packed_keys

Wanted = TypeVar("Wanted")
SMALL = 20_000  # objects and lists that a message may have, whatever its length
DENSEST = 50  # bytes for each further one: a megabyte is then read within about 50 ms
# One that does not end reaches to the end, so that none is looked through twice
STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)


class RequestRefused(PalestraError):
    """A request that is not allowed; `status` is the HTTP status."""

    def __init__(self, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


def read_message(text: str | bytes, kind: type[Wanted]) -> Wanted:
    """A client's JSON as a struct.

    Raises msgspec's `DecodeError`, and `RequestRefused` for a message of too many parts and for an
    object that gives a key twice: what stands between client and server may have checked the other
    of both values.
    """
    check_parts(text)
    message = msgspec.json.decode(text, type=kind)
    refuse_repeated(text)
    return message


def check_parts(text: str | bytes) -> None:
    """Raise `RequestRefused` for a message that nearly consists of objects and lists alone.

    A body of 16 MB of empty objects takes ten seconds to read, in which nobody else could move.
    """
    most = SMALL + len(text) // DENSEST
    written = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if _parts(written) > most and _parts(STRINGS.sub(b"", written)) > most:
        raise RequestRefused(f"a message of this length has at most {most} objects and lists", 413)


def _parts(written: bytes) -> int:
    return written.count(b"{") + written.count(b"[")


def refuse_repeated(text: str | bytes, *, packed: bool = False) -> None:
    """Raise `RequestRefused` if an object of a client's valid JSON or msgpack gives a key twice."""
    try:
        if packed:
            assert isinstance(text, bytes)
            packed_keys.refuse_repeated_keys(text)
        else:
            refuse_repeated_keys(text)
    except (RepeatedKey, packed_keys.NotShort) as error:
        raise RequestRefused(f"the message cannot be read: {error}", 400) from None
    except RecursionError:
        raise RequestRefused("the message is nested too deeply", 400) from None
