"""Single elimination."""

from __future__ import annotations

from collections.abc import Sequence

from palestra_arena.match import Meeting
from palestra_arena.schedule.plan import Plan, ScheduledEnvironment, match_points, pairs_only
from palestra_arena.settings import KnockOut, Settings


def knock_out(
    settings: Settings, entries: Sequence[ScheduledEnvironment], schedule: KnockOut
) -> Plan:
    """The best seed left meets the worst left; the top seeds sit out to make a power of two."""
    pairs_only("knock-out", settings, entries)
    alive = list(settings.agents)
    number = 0
    while len(alive) > 1:
        byes = (1 << (len(alive) - 1).bit_length()) - len(alive)
        playing = alive[byes:]
        half = len(playing) // 2
        pairs = list(zip(playing[:half], reversed(playing[half:]), strict=True))
        results = yield [
            Meeting(entry.environment, pair, number) for pair in pairs for entry in entries
        ]
        out = {pair[1] if match_points(results, pair) >= 0.5 else pair[0] for pair in pairs}
        alive = [agent for agent in alive if agent not in out]
        number += 1
