"""A match in memory, with data that belongs to the process rather than to the match."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from palestra_server.capture import Exchange
from palestra_server.clocks import Clocks
from palestra_server.match import Match
from palestra_server.messages import NewMatch


@dataclass(slots=True, eq=False)
class Live:
    """A match that is played in this process."""

    match: Match
    invite: bytes  # the hash of the word that opens its seats
    clocks: Clocks
    at_once: bool  # whether local agents answer without a thread
    touched: float  # `time.monotonic()` of the last change
    followers: dict[int, set[Callable[[], None]]] = field(default_factory=dict)
    asked: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    stepping: asyncio.Task[None] | None = None  # the step that rules compute in a thread
    captured: dict[int, list[Exchange]] = field(default_factory=dict)  # since a seat's last answer
    captured_bytes: dict[int, int] = field(default_factory=dict)  # of these, as JSON
    rematch: asyncio.Task[NewMatch] | None = None
    next: str = ""  # the match that followed it
    tokens: set[bytes] = field(default_factory=set)  # hashes of those in memory
    halted: bool = False  # whether nothing goes on for it any more in this process
    spent: dict[int, tuple[int, int]] = field(default_factory=dict)  # by seat: second, answers

    def follow(self, seat: int, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every change; the result stops the calls."""
        followers = self.followers.setdefault(seat, set())
        followers.add(changed)
        return lambda: followers.discard(changed)

    @property
    def followed(self) -> bool:
        return any(self.followers.values())

    def notify(self) -> None:
        """Call everybody who follows the match."""
        for followers in list(self.followers.values()):
            for call in list(followers):
                call()

    def halt(self) -> None:
        """Stop everything that goes on for the match in this process."""
        self.halted = True
        self.clocks.stop()
        for task in (*self.asked.values(), self.stepping):
            if task is not None:
                task.cancel()
        self.match.close()
