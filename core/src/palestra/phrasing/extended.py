"""Game classes with one more option than they declare."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache
from typing import Any

from palestra.kernel.errors import InvalidOption
from palestra.kernel.game import Game

Kind = type[Game[Any, Any]]


@cache
def extend_game(kind: Kind, mixin: Any) -> Kind:
    """A subclass of a game, under its name, that takes the option of a mixin and does as it says.

    The mixin names its `option` and the option's annotation, `hint`.
    """
    option: str = mixin.option
    if option in getattr(kind, "__dataclass_fields__", ()):
        raise InvalidOption(
            f"{kind.__name__} has an option {option!r} of its own; it cannot be given another"
        )
    plain, mixins = vars(kind).get("extended_from", (kind, ()))
    body = {
        "__annotations__": {option: mixin.hint},
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
        "__reduce__": _reduce,
        "extended_from": (plain, (*mixins, mixin)),
        option: dataclass_field(kw_only=True, hash=False),  # it may be a mapping
    }
    return dataclass(frozen=True)(type(kind.__name__, (mixin, kind), body))


def _reduce(game: Any) -> tuple[Any, ...]:
    return _again, (*type(game).extended_from, game.__getstate__())


def _again(plain: Kind, mixins: tuple[type, ...], state: dict[str, Any]) -> Any:
    """Unpickle: classes created here cannot be found in any module."""
    kind = plain
    for mixin in mixins:
        kind = extend_game(kind, mixin)
    game = object.__new__(kind)
    vars(game).update(state)
    return game
