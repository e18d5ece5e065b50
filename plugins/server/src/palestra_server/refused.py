"""A request that is not allowed, and reading what clients send."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from palestra.kernel.errors import PalestraError
from palestra.single_keys import RepeatedKey, refuse_repeated_keys

from palestra_server import packed_keys

Wanted = TypeVar("Wanted")


class RequestRefused(PalestraError):
    """A request that is not allowed; `status` is the HTTP status."""

    def __init__(self, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.status = status


def read_message(text: str | bytes, kind: type[Wanted]) -> Wanted:
    """A client's JSON as a struct.

    Raises msgspec's `DecodeError`, and `RequestRefused` for an object that gives a key twice: what
    stands between client and server may have checked the other of both values.
    """
    message = msgspec.json.decode(text, type=kind)
    refuse_repeated(text)
    return message


def refuse_repeated(text: str | bytes, *, packed: bool = False) -> None:
    """Raise `RequestRefused` if an object of a client's valid JSON or msgpack gives a key twice."""
    try:
        if packed:
            assert isinstance(text, bytes)
            packed_keys.refuse_repeated_keys(text)
        else:
            refuse_repeated_keys(text)
    except RepeatedKey as error:
        raise RequestRefused(f"the message cannot be read: {error}", 400) from None
    except RecursionError:
        raise RequestRefused("the message is nested too deeply", 400) from None
