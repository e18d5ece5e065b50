"""A ladder: everybody may challenge the next one up."""

from __future__ import annotations

from collections.abc import Sequence

from palestra_arena.match import Meeting
from palestra_arena.schedule.plan import Plan, ScheduledEnvironment, match_points, pairs_only
from palestra_arena.settings import Ladder, Settings


def ladder(settings: Settings, entries: Sequence[ScheduledEnvironment], schedule: Ladder) -> Plan:
    """One challenge a round, from the bottom rung up."""
    pairs_only("ladder", settings, entries)
    rungs = list(settings.agents)
    number = 0
    for _ in range(schedule.sweeps):
        for rung in range(len(rungs) - 1, 0, -1):
            pair = rungs[rung], rungs[rung - 1]
            results = yield [Meeting(entry.environment, pair, number) for entry in entries]
            if match_points(results, pair) > 0.5:
                rungs[rung - 1], rungs[rung] = pair
            number += 1
