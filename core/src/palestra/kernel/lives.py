"""The people who sit at a seat one after the other.

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

    start: int  # events that the seat had been shown before
    paid: float  # what the seat had been paid before


Lives = Mapping[int, tuple[Life, ...]]  # by seat, where anybody has joined
NOBODY_NEW: Lives = {}  # never changed in place


def newcomers(event: Any) -> tuple[int, ...]:
    """The seats at which a new person sits from an event, or an event on record, on."""
    return tuple(event.data.get("players", ())) if event.kind == NEWCOMER else ()
