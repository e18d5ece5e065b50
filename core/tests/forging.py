"""Every value of a record, forged one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import palestra
from palestra import EpisodeRecord, PalestraError, verify

NOTHING: tuple[Any, ...] = ("", 0, None, [], {}, False)


def assert_forgeries_are_found(record: EpisodeRecord) -> None:
    """Forge each value of a record: `verify` finds it out, or names it as taken on trust."""
    data = json.loads(msgspec.json.encode(record))
    game = palestra.game(record.env, **record.options)
    assert changed(record, msgspec.convert(data, EpisodeRecord, strict=False)) == set()
    tried, found, missed = 0, 0, []
    for path in paths(data):
        value = data
        for key in path:
            value = value[key]
        for other in forgeries(value):
            tried += 1
            try:
                with forged(data, path, other) as line:
                    made = msgspec.json.decode(line, type=EpisodeRecord)
                trusted = verify(made, game if made.options == record.options else None)
            except (PalestraError, msgspec.DecodeError):
                found += 1
            else:
                if not changed(made, record) <= set(trusted):
                    missed.append((path, value, other, changed(made, record) - set(trusted)))
    assert not missed, missed[:5]
    assert tried > 500
    assert found > tried / 4


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of every value in nested plain data."""
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else ()
    for key, one in enumerate(value) if isinstance(value, list) else parts:
        yield from paths(one, (*path, key))


def forgeries(value: Any) -> Iterator[Any]:
    """Other values in a value's place: emptied, altered, of another type."""
    yield from (empty for empty in NOTHING if empty != value or type(empty) is not type(value))
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, -value - 1, value + 0.5, 10**30)
    elif isinstance(value, str):
        yield from (value + "x", value[::-1] + "y", "\\ud800")
    elif isinstance(value, list):
        yield from ([*value, *value[-1:]] if value else [0], value[1:], value[::-1])
    elif isinstance(value, dict):
        yield {**value, "more": 1}
        yield dict(list(value.items())[1:])


@contextmanager
def forged(data: Any, path: tuple[Any, ...], value: Any) -> Iterator[bytes]:
    """Nested plain data as JSON, with another value at a place."""
    place = data
    for key in path[:-1]:
        place = place[key]
    kept, place[path[-1]] = place[path[-1]], value
    try:
        yield json.dumps(data).encode()
    finally:
        place[path[-1]] = kept


def changed(one: EpisodeRecord, other: EpisodeRecord) -> set[str]:
    """Names of the fields in which two records differ, those of turns by their own names."""
    names = {
        name
        for name in EpisodeRecord.__struct_fields__
        if name != "steps" and getattr(one, name) != getattr(other, name)
    }
    if len(one.steps) != len(other.steps):
        return names | {"number of steps"}
    for step, kept in zip(one.steps, other.steps, strict=True):
        for name in type(step).__struct_fields__:
            if name != "turns" and getattr(step, name) != getattr(kept, name):
                names.add("unplayed" if name == "unplayed" else f"{name} of a step")
        if len(step.turns) != len(kept.turns):
            return names | {"number of turns"}
        for turn, true in zip(step.turns, kept.turns, strict=True):
            names |= {
                name
                for name in type(turn).__struct_fields__
                if getattr(turn, name) != getattr(true, name)
            }
    return names
