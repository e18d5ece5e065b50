"""Records as text for a judge."""

from __future__ import annotations

from palestra import EpisodeRecord
from palestra.quoting import disarm


def as_text(record: EpisodeRecord, *, until: int | None = None, last: int | None = None) -> str:
    """The episode, one line per event or decision; decisions are numbered from 0 in brackets.

    Private events are included: a judge sees what any seat saw. `until` stops after that many
    turns; `last` keeps only that many of them. The opening is always included.
    """
    turns = turn_texts(record)
    stop = len(turns) if until is None else until
    first = 0 if last is None else max(stop - last, 0)
    opening = [event.text for event in record.opening]
    return "\n".join([*opening, *turns[first:stop]])


def turn_texts(record: EpisodeRecord) -> list[str]:
    """Each turn with the events after it; those of a joint step come after its last turn."""
    texts: list[str] = []
    for step in record.steps:
        for turn in step.turns:
            texts.append(f"[{len(texts)}] {record.players[turn.seat]}: {disarm(turn.text)}")
        if step.turns:
            texts[-1] = "\n".join([texts[-1], *(event.text for event in step.events)])
    return texts
