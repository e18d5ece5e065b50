"""Values that answer the same whenever they are asked, and data that cannot be written into.

What an agent hands over may be of classes of its own; what it is handed is shared with others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import msgspec
import numpy as np


def plain_action(action: Any) -> Any:
    """An action as a value that nobody else holds and that answers the same whenever it is asked.

    A whole number of a subclass of int or of numpy becomes an int, without a method of its own
    being called, and a typed action, a struct, is copied. Anything else is returned as it is.
    """
    kind = type(action)
    if kind is int or kind is bool:
        return action
    if issubclass(kind, msgspec.Struct):
        return msgspec.structs.replace(action)
    if issubclass(kind, int):
        return int.__index__(action)
    if issubclass(kind, np.integer):
        return np.generic.item(action)
    if issubclass(kind, np.ndarray):
        array = np.ndarray.view(action, np.ndarray)
        return array.item() if array.ndim == 0 and array.dtype.kind in "iu" else action
    return action


def plain_data(value: Any) -> Any:
    """A copy of nested data, without a method of a value's own type being called.

    What is no data stays as it is.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in _COPIES:
        return _COPIES[kind](value)
    for plain, copied in _COPIES.items():
        if issubclass(kind, plain):
            return copied(value)
    return plain_data(dict(value)) if isinstance(value, Mapping) else value


def _copied(value: dict[Any, Any]) -> dict[Any, Any]:
    return {
        key if type(key) in PLAIN else plain_data(key): one
        if type(one) in PLAIN
        else plain_data(one)
        for key, one in dict.items(value)
    }


def _copied_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    parts = tuple.__iter__(value)
    return tuple([one if type(one) in PLAIN else plain_data(one) for one in parts])


PLAIN = frozenset({str, int, float, bool, type(None)})
_COPIES: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    int: int.__index__,
    float: float.__float__,
    np.generic: np.generic.item,
    dict: _copied,
    list: lambda value: [plain_data(one) for one in list.__iter__(value)],
    tuple: _copied_tuple,
}


def _refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
    raise TypeError(f"{type(self).__name__} cannot be written into; make a copy of your own")


class FrozenDict(dict[Any, Any]):
    """A dict that is read only."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list that is read only."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)


def freeze(value: Any) -> Any:
    """A copy of nested plain data that cannot be written into; anything else as it is."""
    # most parts are numbers and strings: not to call for each of them takes a third of the time
    if isinstance(value, dict):
        parts = value.items()
        return FrozenDict({k: one if type(one) in PLAIN else freeze(one) for k, one in parts})
    if isinstance(value, list):
        return FrozenList([one if type(one) in PLAIN else freeze(one) for one in value])
    if type(value) is tuple:
        return tuple([one if type(one) in PLAIN else freeze(one) for one in value])
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return np.frombuffer(value.tobytes(), value.dtype).reshape(value.shape)
    return value
