"""From settings to the rounds of a tournament."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from palestra.kernel.specs import load_entry_point

from palestra_arena.schedule.plan import Plan, ScheduledEnvironment
from palestra_arena.settings import (
    Adaptive,
    CrossPlay,
    KnockOut,
    Ladder,
    Population,
    RoundRobin,
    Settings,
    Swiss,
)

# Imported where one is asked for: adaptive schedules rate agents, which brings scipy.
HERE = "palestra_arena.schedule"
KINDS: dict[type, str] = {
    RoundRobin: f"{HERE}.fixed:round_robin",
    CrossPlay: f"{HERE}.fixed:cross_play",
    Population: f"{HERE}.fixed:population",
    Swiss: f"{HERE}.swiss:swiss",
    KnockOut: f"{HERE}.knock_out:knock_out",
    Ladder: f"{HERE}.ladder:ladder",
    Adaptive: f"{HERE}.adaptive:adaptive",
}


def make_plan(settings: Settings, entries: Sequence[ScheduledEnvironment]) -> Plan:
    """The rounds that the settings' schedule asks for."""
    make: Callable[[Settings, Sequence[ScheduledEnvironment], Any], Plan] = load_entry_point(
        KINDS[type(settings.schedule)]
    )
    return make(settings, entries, settings.schedule)
