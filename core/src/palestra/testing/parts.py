"""What a state holds, part by part, for saying in which parts two states differ."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
import numpy as np

from palestra.kernel.rng import Rng
from palestra.testing.subject import plain, same


def parts_of(state: Any) -> dict[str, Any]:
    """Every number, text and length in a state by its path, its generators left out.

    A number of a list of cards is at `deck[3]`, the number of cards at `len(deck)`.
    """
    found: dict[str, Any] = {}
    _collect(state, "", found)
    return found


def _collect(value: Any, path: str, found: dict[str, Any]) -> None:
    if isinstance(value, Rng):
        return
    if isinstance(value, np.ndarray | np.generic) and not isinstance(value, np.void):
        value = value.tolist()
    for name, item in fields_in(value):
        _collect(item, f"{path}{name}" if name[0] == "[" else f"{path}.{name}".lstrip("."), found)
    if isinstance(value, list | tuple | set | frozenset | dict):
        found[f"len({path})"] = len(value)
    elif not fields_in(value):
        found[path] = value if isinstance(value, int | float | str | bytes | None) else repr(value)


def fields_in(value: Any) -> list[tuple[str, Any]]:
    """What a value holds, with the end of its path."""
    if isinstance(value, np.void):
        return [(name, value[name]) for name in value.dtype.names or () if name != "rng"]
    if is_dataclass(value) and not isinstance(value, type):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, msgspec.Struct):
        return [(name, getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [(f"[{number}]", item) for number, item in enumerate(value)]
    return []


def different_parts(one: Any, other: Any) -> list[str]:
    """The paths at which two states differ."""
    first, second = parts_of(one), parts_of(other)
    missing = object()
    return [
        path
        for path in {**first, **second}
        if first.get(path, missing) != second.get(path, missing)
    ]


def large_parts(state: Any) -> dict[str, Any]:
    """The fields of a state, and of those that are sequences their items, plain; no generator."""
    found: dict[str, Any] = {}
    for name, value in fields_in(state):
        if isinstance(value, Rng):
            continue
        found[name] = value = plain(value)
        if isinstance(value, list | tuple):
            found |= {f"{name}[{number}]": item for number, item in enumerate(value)}
    return found


def copy_part(state: Any, other: Any, part: str) -> Any:
    """Put a part of another state into a state, and return it; None if that cannot be done.

    Items that are equal to the one that is replaced are replaced too: they say the same.
    """
    name, _, place = part.rstrip("]").partition("[")
    mine, theirs = dict(fields_in(state))[name], dict(fields_in(other))[name]
    if place:
        at = int(place)
        if not isinstance(theirs, type(mine)) or at >= len(theirs):
            return None
        items = [theirs[at] if same(item, mine[at]) else item for item in mine]
        theirs = np.array(items, mine.dtype) if isinstance(mine, np.ndarray) else type(mine)(items)
    try:
        if isinstance(state, np.void):
            state[name] = theirs
        else:
            setattr(state, name, theirs)
    except (AttributeError, TypeError, ValueError):
        return None
    return state
