"""Observations as numbers and the data of events, for agents, metrics and plots."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from palestra import Event, Turn
from palestra.records.record import EventRecord


def observed_numbers(turn: Turn) -> list[float]:
    """The observation of a turn as a flat list of Python floats."""
    return np.asarray(turn.observation).astype(float).tolist()


def event_data(events: Iterable[Event | EventRecord], kind: str) -> list[dict[str, Any]]:
    """The data of all events of a kind, in order."""
    return [dict(event.data) for event in events if event.kind == kind]
