"""Plain data that cannot be written into, for what agents, seats and records share."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np


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
    if isinstance(value, dict):
        return FrozenDict({key: freeze(one) for key, one in value.items()})
    if isinstance(value, list):
        return FrozenList([freeze(one) for one in value])
    if type(value) is tuple:
        return tuple([freeze(one) for one in value])
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return np.frombuffer(value.tobytes(), value.dtype).reshape(value.shape)
    return value
