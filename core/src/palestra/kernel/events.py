"""The one log of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something that happened.

    `text` is one sentence for a reader, `data` the same for a program. `audience` is None when
    everybody may know, otherwise the seats (0-based) that may.
    """

    kind: str
    text: str
    data: Mapping[str, Any] = {}
    audience: frozenset[int] | None = None

    def visible_to(self, seat: int) -> bool:
        return self.audience is None or seat in self.audience


def only(*players: int) -> frozenset[int]:
    """An audience of just these seats."""
    return frozenset(players)
