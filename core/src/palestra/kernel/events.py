"""The one log of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from palestra.plain import FrozenDict, freeze

_NOTHING = FrozenDict()


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something that happened.

    `text` is one sentence for a reader, `data` the same for a program, and cannot be written into:
    seats and records share it. `audience` is None when everybody may know, otherwise the seats
    (0-based) that may.
    """

    kind: str
    text: str
    data: Mapping[str, Any] = {}
    audience: frozenset[int] | None = None

    def __post_init__(self) -> None:
        data = freeze(self.data) if self.data else _NOTHING
        msgspec.structs.force_setattr(self, "data", data)

    def visible_to(self, seat: int) -> bool:
        return self.audience is None or seat in self.audience


def only(*players: int) -> frozenset[int]:
    """An audience of just these seats."""
    return frozenset(players)
