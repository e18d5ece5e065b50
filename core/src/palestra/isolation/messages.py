"""What passes between the two processes, and the channel on which it does.

To an agent go pickles, from it come JSON texts of the types below: whoever runs the episodes reads
no object that an agent made.
"""

from __future__ import annotations

import copyreg
import pickle
import socket
import time
from struct import Struct
from typing import Any

import msgspec

from palestra.agents.agent import Decision, Turn
from palestra.agents.models import Request
from palestra.kernel.errors import InvalidAction, PalestraError

LONGEST = 16 << 20  # bytes of one message of an agent
SIZE = Struct("<I")
# what a turn tells without being given anything
VALUES = frozenset(n for n, value in vars(Turn).items() if isinstance(value, property)) - {"game"}


class Ready(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """The process is shut in; `separate`: it has namespaces of its own."""

    separate: bool
    missing: str = ""


class Ask(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """Something of a turn is wanted: one of its values, or what a method of it returns.

    `numbers` are a generator's key and counter (`sample`, `fork`) or seed and stream (`rng`).
    """

    turn: int
    name: str
    numbers: tuple[int, ...] = ()
    text: str = ""
    action: Any = None


class OpenModel(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """A language model is wanted, which the other side opens and asks."""

    uri: str
    options: dict[str, Any] = {}


class Chat(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """Conversations for a model that was opened."""

    model: int
    requests: list[Request]


class Answers(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """A decision for each turn, or None and how the agent failed.

    used: the values that it looked at. raised: what it raised instead of answering. late: the
    places of turns whose coroutine took longer than `Turn.move_seconds`.
    """

    decisions: list[Decision | None]
    failures: list[str]
    used: list[str] = []
    raised: str = ""
    late: list[int] = []


class Done(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    """What was to be done is done, or failed in this way; `trained_on`: seeds, when it was made."""

    error: str = ""
    trained_on: list[tuple[str, int, int]] = []


Message = Ready | Ask | OpenModel | Chat | Answers | Done
_DECODER = msgspec.json.Decoder(Message)
_ENCODER = msgspec.json.Encoder()

copyreg.pickle(InvalidAction, lambda e: (InvalidAction, (e.read, e.legal, e.example, e.why)))


class ChannelClosed(PalestraError):
    """The other side ended, or closed its end."""


class Channel:
    """A stream socket with messages of a given length; `until` bounds each call in time."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._unread = bytearray()

    def send(self, body: bytes, until: float | None = None) -> None:
        self._wait(until)
        try:
            self._end.sendall(SIZE.pack(len(body)) + body)
        except TimeoutError:
            raise
        except OSError as error:
            raise ChannelClosed("the process has closed its channel") from error

    def receive(self, until: float | None = None, longest: int = 1 << 32) -> bytes:
        size = SIZE.unpack(self._take(SIZE.size, until))[0]
        if size > longest:
            raise ChannelClosed(f"a message of {size} bytes, of {longest} at most")
        return self._take(size, until)

    def _take(self, size: int, until: float | None) -> bytes:
        while len(self._unread) < size:
            self._wait(until)
            try:
                read = self._end.recv(max(1 << 16, size - len(self._unread)))
            except TimeoutError:
                raise
            except OSError as error:
                raise ChannelClosed("the process has closed its channel") from error
            if not read:
                raise ChannelClosed("the process has closed its channel")
            self._unread += read
        taken = bytes(self._unread[:size])
        del self._unread[:size]
        return taken

    def _wait(self, until: float | None) -> None:
        left = None if until is None else until - time.monotonic()
        if left is not None and left <= 0:
            raise TimeoutError
        self._end.settimeout(left)

    def close(self) -> None:
        self._end.close()


def give(channel: Channel, value: Any, until: float | None = None) -> None:
    """Send what the agent's side may unpickle."""
    channel.send(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), until)


def say(channel: Channel, message: Message) -> None:
    """Send a message of the agent's side."""
    channel.send(_ENCODER.encode(message))


def hear(channel: Channel, until: float | None) -> Message:
    """The next message of an agent; raises `ChannelClosed` if it is none."""
    try:
        return _DECODER.decode(channel.receive(until, LONGEST))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ChannelClosed(f"what it wrote is no message ({str(error)[:200]})") from None
