"""A caller's columns, checked and converted to arrays of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from palestra import InvalidOption
from palestra.kernel.errors import show

from palestra_rewards.arrays import Floats, Ints, firsts, floats, number

KEYS = ("state", "action")
WHOLE = ("tokens", "answer_tokens", "mistakes")
NUMBERS = ("logprob", "seconds", "cost")
OPTIONAL = (*KEYS, *WHOLE, *NUMBERS)


def places(ids: Ints) -> Ints:
    """For each entry, how many equal entries come before it."""
    starts = np.concatenate(([0], np.cumsum(np.bincount(ids))))
    if (ids[1:] >= ids[:-1]).all():
        return np.asarray(np.arange(ids.size) - starts[ids])
    order = np.argsort(ids, kind="stable")
    found = np.empty(ids.size, dtype=np.int64)
    found[order] = np.arange(ids.size) - starts[ids[order]]
    return found


def whole_column(name: str, values: Any, size: int | None = None, default: Any = None) -> Ints:
    """`values` as an integer array of `size`, or `default` if they are None."""
    array = np.asarray(default if values is None else values)
    if array.size and array.dtype.kind not in "iub":
        exact = numeric(name, array)
        if not np.all(exact == np.floor(exact)):
            raise InvalidOption(f"{name} must hold whole numbers")
    return _check_size(name, array, size).astype(np.int64, copy=False)


def float_column(name: str, values: Any, size: int, default: Any = None) -> Floats:
    """`values` as a float array of `size`, or `default` if they are None."""
    array = np.asarray(default if values is None else values)
    return numeric(name, _check_size(name, array, size))


def numeric(name: str, values: Any) -> Floats:
    """`values` as floats; raises `InvalidOption` where they are no numbers."""
    try:
        return floats(values)
    except (TypeError, ValueError, OverflowError):
        entries = np.asarray(values, dtype=object).ravel().tolist()
        bad = next((one for one in entries if not _is_number(one)), values)
        raise InvalidOption(f"{name} must hold numbers, not {show(bad)}") from None


def _is_number(value: object) -> bool:
    with suppress(TypeError, ValueError, OverflowError):
        return floats(value).ndim == 0
    return False


def entries_for_turns(name: str, values: Any, size: int) -> Any:
    """`values` of any kind, checked to have one for each turn."""
    if len(values) != size:
        raise InvalidOption(f"{name} has {len(values)} entries; there are {size} turns")
    return values


def names_of(values: Any) -> tuple[str, ...]:
    """The name for each number that `number(values)` assigns."""
    return tuple(str(values[place]) for place in firsts(number(values)))


def optional_columns(columns: Mapping[str, Any], size: int) -> dict[str, Any]:
    """The optional columns over turns; states and actions become numbers."""
    known: dict[str, Any] = {}
    for name, values in columns.items():
        if name not in OPTIONAL:
            raise InvalidOption(
                f"a Group has no column {name!r}; optional columns over turns are "
                f"{', '.join(OPTIONAL)}"
            )
        if values is None:
            continue
        if name in KEYS:
            known[name] = number(entries_for_turns(name, values, size))
        elif name in WHOLE:
            known[name] = whole_column(name, values, size)
        else:
            known[name] = float_column(name, values, size)
    return known


def _check_size(name: str, array: Any, size: int | None) -> Any:
    if array.ndim != 1 or (size is not None and array.size != size):
        wanted = "one dimension" if size is None else f"shape ({size},)"
        raise InvalidOption(f"{name} must have {wanted}; it has shape {array.shape}")
    return array
