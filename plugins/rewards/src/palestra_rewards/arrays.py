"""Array types and statistics by bucket, which all estimators are built from.

`ids` gives each element its bucket, a number from 0. Everything here is linear in the number of
elements and returns finite numbers for any finite input: a bucket with one element, or with equal
values, has no spread and is standardised to zero. A spread is a standard deviation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption
from palestra.kernel.errors import show

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NO_SPREAD = 1e-9  # a spread below this share of the largest value is rounding error


def floats(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)


def numbers(name: str, values: Any) -> Floats:
    """The value of an option as an array of finite numbers; raises `InvalidOption`."""
    try:
        array = np.asarray(values)
        found = array.astype(np.float64) if array.dtype.kind in "biuf" else None
    except Exception:  # of an unusual object
        found = None
    if found is None or not np.isfinite(found).all():
        raise InvalidOption(
            f"{name} must be finite numbers, or an array of them, not {show(values)}"
        )
    return found


def number(values: Any) -> Ints:
    """Consecutive numbers from 0, equal where `values` are; values are integers or hashable."""
    if isinstance(values, np.ndarray) or set(map(type, values)) <= {int, bool}:
        array = np.asarray(values)
        if array.dtype.kind in "iub":
            return _number_integers(array.astype(np.int64, copy=False))
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(value, len(seen)) for value in values], dtype=np.int64)


def _number_integers(array: Ints) -> Ints:
    if not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    if high - low > 8 * array.size:
        return np.unique(array, return_inverse=True)[1].reshape(-1)
    counts = np.bincount(array - low if low else array)
    if low == 0 and counts.all():
        return array
    return (np.cumsum(counts > 0) - 1)[array - low]


def firsts(ids: Ints) -> Ints:
    """The index at which each of the consecutive `ids` occurs first."""
    first = np.empty(int(ids.max(initial=-1)) + 1, dtype=np.int64)
    first[ids[::-1]] = np.arange(ids.size - 1, -1, -1)
    return first


def together(columns: Iterable[Ints]) -> Ints:
    """Consecutive numbers from 0, equal where all `columns` are equal."""
    found: Ints | None = None
    for column in columns:
        ids = number(column)
        found = ids if found is None else number(found * (ids.max(initial=0) + 1) + ids)
    if found is None:
        raise ValueError("together needs at least one column")
    return found


def count(ids: Ints) -> Floats:
    return np.bincount(ids).astype(np.float64)


def means(values: Floats, ids: Ints) -> Floats:
    """The mean of every bucket; 0 for one without elements."""
    sizes = np.bincount(ids)
    totals = np.bincount(ids, values, minlength=sizes.size)
    return floats(totals / np.maximum(sizes, 1))


def centre(values: Floats, ids: Ints) -> Floats:
    return values - means(values, ids)[ids]


def spreads(values: Floats, ids: Ints, ddof: int = 0) -> Floats:
    """The standard deviation of every bucket; 0 where it is only rounding error."""
    off = centre(values, ids)
    sizes = np.bincount(ids)
    squares = np.bincount(ids, off * off, minlength=sizes.size)
    found: Floats = np.sqrt(squares / np.maximum(sizes - ddof, 1))
    largest = np.zeros(sizes.size)
    np.maximum.at(largest, ids, np.abs(values))
    found[found <= NO_SPREAD * largest] = 0.0
    return found


def standardise(values: Floats, ids: Ints, *, ddof: int = 0, epsilon: float = 0.0) -> Floats:
    """`(value - mean) / (spread + epsilon)` in every bucket; 0 where there is no spread."""
    spread = spreads(values, ids, ddof)
    scale = np.zeros(spread.size)
    np.divide(1.0, spread + epsilon, out=scale, where=spread > 0)
    return centre(values, ids) * scale[ids]


def without_self(values: Floats, ids: Ints) -> Floats:
    """For each element, the mean of the others in its bucket; its own value if there are none."""
    sizes = np.bincount(ids)[ids]
    totals = np.bincount(ids, values)[ids]
    return np.where(sizes > 1, (totals - values) / np.maximum(sizes - 1, 1), values)


def ranks(values: Floats, ids: Ints) -> Floats:
    """Place of every element in its bucket, smallest 0; equal values share the mean place."""
    order = np.lexsort((values, ids))
    starts = np.concatenate(([0], np.cumsum(np.bincount(ids))))[ids[order]]
    places = np.arange(order.size) - starts
    fresh = np.ones(order.size, dtype=bool)
    fresh[1:] = (np.diff(ids[order]) != 0) | (np.diff(values[order]) != 0)
    ties = np.cumsum(fresh) - 1
    found = np.empty(order.size)
    found[order] = means(places.astype(np.float64), ties)[ties]
    return found
