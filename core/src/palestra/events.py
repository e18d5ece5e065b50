"""The one log of an episode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    `text` is one sentence for a reader, `data` the same for a program. `audience` is None when
    everybody may know, otherwise the seats (0-based) that may.
    """

    kind: str
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    audience: frozenset[int] | None = None

    def visible_to(self, player: int) -> bool:
        return self.audience is None or player in self.audience


def only(*players: int) -> frozenset[int]:
    """An audience of just these seats."""
    return frozenset(players)


def seen_by(events: Iterable[Event], player: int) -> Sequence[Event]:
    """The projection of a log onto what one player may know, in order."""
    return [event for event in events if event.visible_to(player)]
