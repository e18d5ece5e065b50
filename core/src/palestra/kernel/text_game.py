"""Text games: Python state, typed actions, phases, addressed messages, private types."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec
import numpy as np
from gymnasium import spaces

from palestra.kernel.actions import Grammar, TextAction, read_action
from palestra.kernel.errors import InvalidAction, InvalidOption
from palestra.kernel.game import Game, Mask
from palestra.kernel.rng import Rng


class HasRng(Protocol):
    rng: Rng


State = TypeVar("State", bound=HasRng)


class TextGame(Game[State, TextAction]):
    """A game whose state is a slotted dataclass with a field `rng: Rng`.

    Besides the rules, a game declares `action_types`, all its kinds of action, and `menu`, the
    actions that a program can choose by number; with an empty menu it has only a text view. `legal`
    returns a `Grammar`.
    """

    action_types: ClassVar[tuple[type[TextAction], ...]]

    @property
    @abstractmethod
    def menu(self) -> tuple[TextAction, ...]:
        """The actions of the Discrete view, in order."""

    @property
    def has_numbers(self) -> bool:
        return bool(self.menu)

    @abstractmethod
    def legal(self, state: State, seat: int) -> Grammar: ...

    @cached_property
    def _menu_index(self) -> dict[TextAction, int]:
        return {action: index for index, action in enumerate(self.menu)}

    def action_space(self, seat: int) -> spaces.Discrete:
        if not self.menu:
            raise InvalidOption(
                f"{type(self).__name__} has no numbered actions; use the text view (obs='text')"
            )
        return spaces.Discrete(len(self.menu))

    def action_mask(self, state: State, seat: int) -> Mask:
        if seat not in self.to_act(state):
            return np.ones(len(self.menu), np.int8)
        grammar = self.legal(state, seat)
        return np.array([action in grammar for action in self.menu], np.int8)

    def action_of(self, index: int) -> TextAction:
        if not 0 <= index < len(self.menu):
            raise InvalidAction(index, f"a number from 0 to {len(self.menu) - 1}", "0")
        return self.menu[index]

    def index_of(self, action: TextAction) -> int | None:
        return self._menu_index.get(action)

    def check(self, state: State, seat: int, action: TextAction) -> None:
        grammar = self.legal(state, seat)
        why = grammar.problem(action)
        if why:
            raise InvalidAction(action, str(grammar), grammar.example(), why)

    def sample(self, state: State, seat: int, rng: Rng) -> TextAction:
        return self.legal(state, seat).sample(rng)

    def parse(self, state: State, seat: int, text: str) -> TextAction:
        return read_action(text, self.legal(state, seat), self.action_types)

    def action_text(self, state: State, seat: int, action: TextAction) -> str:
        return repr(action)

    def clone(self, state: State) -> State:
        return _copy(state)

    def state_key(self, state: State, seat: int | None = None) -> bytes:
        if seat is not None:
            seen = self.describe(state, seat)
            return blake2b(f"{seat}\n{seen}".encode(), digest_size=16).digest()
        return blake2b(written_state(state).encode(), digest_size=16).digest()

    def anchor(self, state: State, seat: int) -> bytes:
        """By default a hash of the description, the array view and the legal moves of the seat."""
        if not self.counters:
            return self.state_key(state, seat)
        still = self.without_counters(state)
        seen = f"{seat}\n{self.describe(still, seat)}\n{self.legal(state, seat)}".encode()
        if self.has_numbers:
            seen += self.observe(still, seat).tobytes()
        return blake2b(seen, digest_size=16).digest()

    def reseed(self, state: State, seed: int) -> None:
        state.rng = Rng.seeded(seed)


def written_state(state: Any) -> str:
    """A state without its generator as text: equal states give equal text, in every process."""
    return value_text(
        sorted((f.name, getattr(state, f.name)) for f in fields(state) if f.name != "rng")
    )


def value_text(value: Any) -> str:
    """A value as text: equal values give equal text, in every process."""
    text = repr(value)
    # most have neither sets nor dicts nor arrays, and their repr will do
    in_order = "{" not in text and "array(" not in text
    return text if in_order else repr(_in_order(value))


def _in_order(value: Any) -> Any:
    """A value whose repr depends neither on the order of sets and dicts nor on a cut array."""
    if isinstance(value, set | frozenset):
        return {"set": sorted(repr(_in_order(item)) for item in value)}
    if isinstance(value, Mapping):
        return {"dict": sorted((repr(_in_order(k)), repr(_in_order(v))) for k, v in value.items())}
    if isinstance(value, list):
        return list(map(_in_order, value))
    if isinstance(value, tuple):
        return tuple(map(_in_order, value))
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, msgspec.Struct):
        return type(value).__name__, [_in_order(getattr(value, n)) for n in value.__struct_fields__]
    if is_dataclass(value):
        shown = [getattr(value, f.name) for f in fields(value) if f.repr]
        return type(value).__name__, _in_order(shown)
    return value


_ATOMS = (int, float, str, bytes, bool, type(None), frozenset, msgspec.Struct)
_copiers: dict[type, Callable[[Any], Any]] = {}
_values: set[type] = set()  # those met so far whose copies are themselves


def _copy(value: Any) -> Any:
    """An independent copy of a state's field; much faster than `copy.deepcopy`."""
    kind = type(value)
    if kind not in _copiers:
        _copiers[kind] = _make_copier(kind)
    return _copiers[kind](value)


def _make_copier(kind: Any) -> Callable[[Any], Any]:
    if issubclass(kind, _ATOMS):
        _values.add(kind)
        return lambda value: value
    if kind is tuple:
        return lambda items: items if _are_values(items) else tuple(map(_copy, items))
    if kind is list:
        return lambda items: items[:] if _are_values(items) else list(map(_copy, items))
    if kind is set:
        return lambda value: {_copy(item) for item in value}
    if kind is dict:
        return lambda value: {key: _copy(item) for key, item in value.items()}
    if kind is np.ndarray:
        return lambda value: value.copy()
    if is_dataclass(kind):
        return _dataclass_copier(kind)
    return copy.deepcopy


def _are_values(items: Iterable[Any]) -> bool:
    return _values.issuperset(map(type, items))


def _dataclass_copier(kind: Any) -> Callable[[Any], Any]:
    names = [field.name for field in fields(kind)]
    if kind.__dataclass_params__.frozen:
        _values.add(kind)
        return lambda value: value

    def copy_fields(value: Any) -> Any:
        made: Any = object.__new__(kind)
        for name in names:
            item = getattr(value, name)
            setattr(made, name, item if type(item) is int else _copy(item))
        return made

    return copy_fields
