"""Verifying a record against the game: every field that follows from seed and moves."""

from __future__ import annotations

from typing import Any

import msgspec

from palestra.kernel.errors import Divergence, PalestraError
from palestra.kernel.game import Game
from palestra.records.answers import counts_of
from palestra.records.record import EpisodeRecord, StepRecord, TurnRecord, record_episode, replay

# Fields known only to the recorder, which a replay takes on trust
TRUSTED = (
    "agents",
    "versions",
    "number",
    "group",
    "parent",
    "branched_at",
    "tags",
    "error",
    "invalid",
)
TRUSTED_OF_TURNS = (
    "raw",
    "errors",
    "refused",
    "thought",
    "model",
    "logprob",
    "usage",
    "sampling",
    "tokens",
)


def verify(record: EpisodeRecord, game: Game[Any, Any] | None = None) -> tuple[str, ...]:
    """Replay a record and compare every field that can be derived from it.

    Returns the names of the fields that were taken on trust, because only the recorder can know
    them. The seed of a game without chance is of no consequence, and so cannot be checked. Raises
    `Divergence`, which names the first field that differs, with both values.
    """
    try:
        episode = replay(record, game)
        again = record_episode(episode, record.agents)
    except PalestraError:
        raise
    except Exception as error:  # a forged record may make the game raise anything
        raised = f"{type(error).__name__}: {error}"
        raise Divergence(0, "replaying it", "a record", raised) from error
    for name in EpisodeRecord.__struct_fields__:
        if name not in (*TRUSTED, "steps", "mistakes"):
            _same(len(record.steps), name, getattr(record, name), getattr(again, name))
    for number, (kept, made) in enumerate(zip(record.steps, again.steps, strict=True)):
        _verify_step(number, kept, made)
    _verify_mistakes(record)
    filled = [n for n in TRUSTED_OF_TURNS if any(getattr(t, n) for t in record.turns)]
    if any(step.unplayed for step in record.steps):
        filled.append("unplayed")
    return tuple([n for n in TRUSTED if getattr(record, n)] + filled)


def _verify_step(number: int, kept: StepRecord, made: StepRecord) -> None:
    for name in ("rewards", "costs", "events", "facts"):
        _same(number, name, getattr(kept, name), getattr(made, name))
    _same(number, "number of turns", len(kept.turns), len(made.turns))
    for turn, again in zip(kept.turns, made.turns, strict=True):
        for name in TurnRecord.__struct_fields__:
            if name not in TRUSTED_OF_TURNS:
                what = f"{name} of seat {again.seat}"
                _same(number, what, getattr(turn, name), getattr(again, name))


def _verify_mistakes(record: EpisodeRecord) -> None:
    """Check that `mistakes` counts every refused answer on record, and no others in a run."""
    _same(len(record.steps), "mistakes", len(record.mistakes), len(record.players))
    counts = [counted.refused for counted in counts_of(record)]
    for seat, (counted, seen) in enumerate(zip(record.mistakes, counts, strict=True)):
        if counted < seen or (record.agents and counted != seen):
            raise Divergence(len(record.steps), f"mistakes of seat {seat}", counted, seen)


def _same(number: int, what: str, kept: Any, made: Any) -> None:
    if msgspec.json.encode(kept) != msgspec.json.encode(made):
        raise Divergence(number, what, kept, made)
