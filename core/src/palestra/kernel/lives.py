"""The people who occupy a seat one after another.

A game that replaces people says so (`Game.has_newcomers`) and tells an event of kind `NEWCOMER`
whose data has the seats as `players`. That event is the first thing the newcomer reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NEWCOMER = "newcomer"


@dataclass(frozen=True, slots=True)
class Life:
    """Where a newcomer's time at a seat begins."""

    start: int  # number of events shown at the seat before
    paid: float  # the seat's return before


Lives = Mapping[int, tuple[Life, ...]]  # by seat, where anybody has joined
NOBODY_NEW: Lives = {}  # never changed in place


def newcomers(event: Any) -> tuple[int, ...]:
    """The seats that new people take with this event, or recorded event."""
    return tuple(event.data.get("players", ())) if event.kind == NEWCOMER else ()
