"""States of array games, declared as classes with annotated fields.

    class NimState(ArrayState):
        heap: Annotated[NDArray[np.int8], Shape("piles")]  # stones on each pile
        last: Annotated[int, np.int8]  # stones taken by the last move

The class is a declaration: a state is a numpy record with these fields as attributes, and rules
annotated with the class are completed by editors and checked by mypy.
"""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from palestra.kernel.errors import PluginError


class Shape:
    """The shape of a field: `sides` are numbers, or names of options and properties of the game."""

    def __init__(self, *sides: int | str) -> None:
        self.sides = sides

    def of(self, game: Any) -> tuple[int, ...]:
        """The shape in one `game`; raises `PluginError` for a side the game does not have."""
        return tuple(self._side(game, side) for side in self.sides)

    @staticmethod
    def _side(game: Any, side: int | str) -> int:
        if isinstance(side, int):
            return side
        value = getattr(game, side, None)
        if not isinstance(value, int):
            raise PluginError(
                f"{type(game).__name__}: a state field has a side {side!r}, which must be a whole "
                f"number that the game has as an option or property, not {value!r}"
            )
        return value

    def __repr__(self) -> str:
        return f"Shape({', '.join(map(repr, self.sides))})"


class Record(Protocol):
    """A state apart from its fields: a numpy record."""

    def tobytes(self) -> bytes: ...
    def __getitem__(self, name: str) -> Any: ...
    def __setitem__(self, name: str, value: Any) -> None: ...


class ArrayState:
    """The fields of every array game's state; a game's own class adds its own.

    Rules write these fields through `palestra.rules` (`turn_to`, `win`, `finish`, …).

    rng: the generator: key, key, counter. turn: steps played so far.
    acting, present: 1 for seats that are to move, and for seats still in the game.
    result: by seat, `rules.WIN`, … once it is over. over: 1 once the episode has ended.
    truncated: 1 if it ended at a time limit.
    """

    rng: Annotated[NDArray[np.int64], Shape(3)]
    turn: Annotated[int, np.int32]
    acting: Annotated[NDArray[np.uint8], Shape("num_players")]
    present: Annotated[NDArray[np.uint8], Shape("num_players")]
    result: Annotated[NDArray[np.uint8], Shape("num_players")]
    over: Annotated[int, np.uint8]
    truncated: Annotated[int, np.uint8]

    if TYPE_CHECKING:  # as `Record`

        def tobytes(self) -> bytes: ...
        def __getitem__(self, name: str) -> Any: ...
        def __setitem__(self, name: str, value: Any) -> None: ...


HEADER = tuple(ArrayState.__annotations__)
Field = tuple[str, Any] | tuple[str, Any, tuple[int, ...]]


def fields_of(kind: type[ArrayState], game: Any) -> list[tuple[Any, ...]]:
    """The fields of a state class as numpy writes them, base fields first."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise PluginError(f"{kind.__name__}: {error}; import it outside TYPE_CHECKING") from error
    return [(name, *_layout(f"{kind.__name__}.{name}", hint, game)) for name, hint in hints.items()]


def _layout(where: str, hint: Any, game: Any) -> tuple[Any, ...]:
    """The dtype of a field and, for an array, its shape."""
    inner, *extra = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    inner = _resolve_alias(inner)
    shape = next((item for item in extra if isinstance(item, Shape)), None)
    if get_origin(inner) is np.ndarray:
        if shape is None:
            raise PluginError(f"{where} is an array without a shape; write Annotated[…, Shape(…)]")
        return _dtype(where, get_args(get_args(inner)[1])[0]), shape.of(game)
    exact = next((item for item in extra if isinstance(item, type)), None)
    return (_dtype(where, exact or {int: np.int64, float: np.float64}.get(inner)),)


def _resolve_alias(hint: Any) -> Any:
    """The type that a type alias stands for; from numpy 2.5 on `NDArray` is an alias."""
    meaning = getattr(get_origin(hint), "__value__", None)
    return hint if meaning is None else meaning[get_args(hint)]


def _dtype(where: str, kind: Any) -> Any:
    if kind in (np.bool_, bool):
        raise PluginError(f"{where} is bool, which does not compile in a record; use np.uint8")
    if not (isinstance(kind, type) and issubclass(kind, np.number)):
        raise PluginError(
            f"{where} must be a number or an array: Annotated[int, np.int16] or "
            "Annotated[NDArray[np.int8], Shape(3)]"
        )
    return kind


StateClass = TypeVar("StateClass", bound=ArrayState)
