"""The one log of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from palestra.plain import FrozenDict, freeze

_NOTHING = FrozenDict()


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something that happened.

    kind: a word for programs, such as "move". text: one sentence for a reader; data: the same for a
        program, which seats and records share and nobody can write into. audience: the seats (from
        0) that may know of it; None for everybody.
    """

    kind: str
    text: str
    data: Mapping[str, Any] = {}
    audience: frozenset[int] | None = None

    def __post_init__(self) -> None:
        data = freeze(self.data) if self.data else _NOTHING
        msgspec.structs.force_setattr(self, "data", data)

    def visible_to(self, seat: int) -> bool:
        """Whether `seat` may know of it."""
        return self.audience is None or seat in self.audience


def only(*players: int) -> frozenset[int]:
    """An audience of just these `players`, by seat number."""
    return frozenset(players)
