"""Verifying a record against the game: every field that follows from seed and moves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from palestra.kernel.errors import Divergence, PalestraError
from palestra.kernel.game import Game
from palestra.records.answers import counts_of
from palestra.records.record import EpisodeRecord, StepRecord, TurnRecord, record_episode, replay
from palestra.shaping import are_installed

# Fields known only to the recorder, which a replay takes on trust, whether filled or empty: what
# was taken out of a record is as little known as what was put in.
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
    "earlier",
    "facts",
)


def verify(record: EpisodeRecord, game: Game[Any, Any] | None = None) -> tuple[str, ...]:
    """Replay a record and compare every field that can be derived from it.

    record: of one episode. game: the rules; by default those installed under the record's id.

    Returns the names of the fields that were taken on trust, because only the recorder can know
    them; `absent` says which of them are empty. `seed` and `options` are among these: a replay
    starts from them, and so finds a change only if it has an effect on these moves. `mistakes` are
    in a record without agents, whose refused answers are not on record. Raises `Divergence`, which
    names the first field that differs, with both values.
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
    _same(len(again.steps), "number of steps", len(record.steps), len(again.steps))
    for number, (kept, made) in enumerate(zip(record.steps, again.steps, strict=True)):
        _verify_step(number, kept, made)
    _verify_answers(record)
    _verify_mistakes(record)
    shaped = () if are_installed(record.rewards_from) else ("rewards",)
    names = ("seed", "options", *TRUSTED, "status", *TRUSTED_OF_TURNS, "unplayed", *shaped)
    return names if record.agents else (*names, "mistakes")


class Doubles:
    """Which episodes of a file stand in it more than once."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}

    def remarks(self, number: int, line: bytes, record: EpisodeRecord) -> list[str]:
        """What `oddly_written` says of the line of episode `number`, and whose double it is."""
        digest = blake2b(msgspec.json.encode(record), digest_size=16).digest()
        first = self._first.setdefault(digest, number)
        odd = oddly_written(line, record)
        return odd if first == number else [*odd, f"it is episode {first} once more"]


def oddly_written(line: bytes | str, record: EpisodeRecord) -> list[str]:
    """What stands in a record's line and is not in the record that was read from it.

    A reader leaves unknown fields out, keeps the last of doubled ones, and takes 3.0 for 3; whoever
    reads the line with other means finds something else.
    """
    found: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in items]
        twice = sorted({name for name in names if names.count(name) > 1})
        found.extend(f"{name!r} stands there twice" for name in twice)
        return dict(items)

    try:
        written = json.loads(line, object_pairs_hook=pairs)
    except (RecursionError, ValueError) as error:
        return [f"Python's own reader of JSON does not read it: {error}"]
    found.extend(_differences(written, json.loads(msgspec.json.encode(record)), ""))
    return found


def _differences(written: Any, read: Any, where: str) -> Iterator[str]:
    """Where what is written is more than, or another kind of value than, what was read."""
    if isinstance(written, dict) and isinstance(read, dict):
        for name, value in written.items():
            place = f"{where}.{name}" if where else name
            if name not in read:
                yield f"no record has a field {place}"
            else:
                yield from _differences(value, read[name], place)
    elif isinstance(written, list) and isinstance(read, list) and len(written) == len(read):
        for number, (one, other) in enumerate(zip(written, read, strict=True)):
            yield from _differences(one, other, f"{where}[{number}]")
    elif type(written) is not type(read) or written != read:
        yield f"{where} is written {json.dumps(written)[:80]} and read as {json.dumps(read)[:80]}"


def absent(record: EpisodeRecord) -> tuple[str, ...]:
    """The fields taken on trust that are empty everywhere in a record."""
    of_turns = [n for n in TRUSTED_OF_TURNS if not any(getattr(t, n) for t in record.turns)]
    unplayed = [] if any(step.unplayed for step in record.steps) else ["unplayed"]
    of_record = [n for n in ("options", *TRUSTED) if not getattr(record, n)]
    return (*of_record, *of_turns, *unplayed)


def _verify_step(number: int, kept: StepRecord, made: StepRecord) -> None:
    for name in ("rewards", "costs", "events", "facts"):
        _same(number, name, getattr(kept, name), getattr(made, name))
    _same(number, "number of turns", len(kept.turns), len(made.turns))
    for turn, again in zip(kept.turns, made.turns, strict=True):
        for name in TurnRecord.__struct_fields__:
            if name not in TRUSTED_OF_TURNS:
                what = f"{name} of seat {again.seat}"
                _same(number, what, getattr(turn, name), getattr(again, name))


def _verify_answers(record: EpisodeRecord) -> None:
    """Check what the fields about answers say of each other."""
    if not 0 <= record.branched_at <= len(record.steps):
        raise Divergence(0, "branched_at", record.branched_at, f"0 to {len(record.steps)}")
    for number, step in enumerate(record.steps):
        for turn in step.turns:
            if turn.action is None:
                right: tuple[str, ...] = ("forfeit",)
            else:
                right = ("retried", "replaced") if turn.refused or turn.errors else ("ok",)
            if turn.status not in right:
                what = f"status of seat {turn.seat}"
                raise Divergence(number, what, turn.status, " or ".join(right))
            if turn.refused:
                why = [attempt.error for attempt in turn.refused]
                _same(number, f"errors of seat {turn.seat}", turn.errors, why)
        idle = set(range(len(record.players))) - {turn.seat for turn in step.turns}
        if not step.unplayed.keys() <= idle:
            raise Divergence(number, "seats of unplayed answers", sorted(step.unplayed), idle)


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
