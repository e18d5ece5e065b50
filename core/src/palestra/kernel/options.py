"""Options of games and agents: declared once in an annotation, checked and described from it.

    @dataclass(frozen=True)
    class Nim(ArrayGame[NimState]):
        stones: Annotated[int, Meta(ge=1, le=127, description="stones on the heap")] = 21

`Meta` is msgspec's: `ge`, `gt`, `le`, `lt`, `multiple_of`, `min_length`, `max_length`, `pattern`
and `description`; choices are a `Literal`. A value of another type is refused: 8.0 and True are not
integers. Integers are accepted as floats, numpy scalars as Python's, lists as tuples.
"""

from __future__ import annotations

import inspect
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from msgspec import Meta

from palestra.kernel.errors import InvalidOption, PluginError, show

WIDEST = 2**64  # smaller integers fit into files and compiled rules
Range = tuple[str, float, float | None]


class UnfitValue(Exception):
    """A value that does not fit its annotation."""


def check_options(game: Any) -> None:
    """Check every option of a dataclass against its annotation and store it in its plain form.

    Raises `InvalidOption`, which names the option, what is accepted and what was given.
    """
    kind: Any = type(game)
    for name, hint in option_hints(kind).items():
        value = getattr(game, name)
        fitted = fit_option(name, hint, value)
        if fitted is not value:
            object.__setattr__(game, name, fitted)


def fit_option(name: str, hint: Any, value: Any, what: str = "") -> Any:
    """A value in the plain form its annotation asks for; raises `InvalidOption`."""
    try:
        return _fit(hint, value)
    except Exception:  # UnfitValue, or any exception of an unusual object
        meaning = meta_of(hint, "description")
        of = f" of {what}" if what else ""
        wide = type(value) is int and abs(value) >= WIDEST
        raise InvalidOption(
            f"{name}{of} must be {in_words(hint)}, not {show(value)}"
            + (", which has more than 64 bits" if wide else "")
            + (f" ({name}: {meaning})" if meaning else "")
        ) from None


@lru_cache(maxsize=512)
def parameter_hints(make: Callable[..., Any]) -> dict[str, Any]:
    """Readable annotations of a callable's parameters, and of those a class hands to its bases."""
    kinds = reversed(make.__mro__[:-1]) if inspect.isclass(make) else ()
    makers = [vars(k)["__init__"] for k in kinds if "__init__" in vars(k)] or [make]
    hints: dict[str, Any] = {}
    for function in makers:
        with suppress(Exception):  # a name imported for type checkers only
            hints |= get_type_hints(function, include_extras=True)
    return hints


@lru_cache(maxsize=512)
def option_hints(kind: Any) -> dict[str, Any]:
    """Annotations of a game class's options by name; raises `PluginError` for unreadable ones."""
    if not is_dataclass(kind):
        return {}
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        named = getattr(kind, "__name__", kind)
        raise PluginError(
            f"{named}: the annotation of an option names what is not imported: {error}; "
            "import it outside `if TYPE_CHECKING`"
        ) from error
    return {f.name: hints[f.name] for f in fields(kind) if f.init}


def limits_of(hint: Any) -> dict[str, Any]:
    """The limits that an annotation declares, by msgspec's names for them: {"ge": 1, "le": 127}."""
    names = ("ge", "gt", "le", "lt")
    return {name: limit for name in names if (limit := meta_of(hint, name)) is not None}


def _metas(hint: Any) -> list[Meta]:
    return [meta for meta in get_args(hint)[1:] if isinstance(meta, Meta)]


def meta_of(hint: Any, name: str) -> Any:
    """The first value given for one of msgspec's constraints or descriptions, or None."""
    return next((v for m in _metas(hint) if (v := getattr(m, name)) is not None), None)


# Fitting a value to an annotation


def _fit(hint: Any, value: Any) -> Any:
    origin = get_origin(hint)
    if origin is Annotated:
        fitted = _fit(get_args(hint)[0], value)
        for meta in _metas(hint):
            _constrain(meta, fitted)
        return fitted
    if origin is Literal:
        if any(type(value) is type(choice) and value == choice for choice in get_args(hint)):
            return value
        raise UnfitValue
    if origin in (Union, types.UnionType):
        return _fit_union(get_args(hint), value)
    if origin is not None:
        return _fit_container(origin, get_args(hint), value)
    return _fit_plain(hint, value)


def _fit_plain(hint: Any, value: Any) -> Any:
    if hint in (int, float, bool) and isinstance(value, np.generic):
        value = value.item()
    if hint is float and type(value) is int:
        try:
            return float(value)
        except OverflowError:
            raise UnfitValue from None
    if hint in (int, float, bool):
        wide = type(value) is int and abs(value) >= WIDEST
        if type(value) is not hint or wide or (hint is float and math.isnan(value)):
            raise UnfitValue
        return value
    if hint in (None, type(None)) and value is not None:
        raise UnfitValue
    if isinstance(hint, type) and hint not in (object, Any) and not isinstance(value, hint):
        raise UnfitValue
    if hint is str and not _is_readable(value):
        raise UnfitValue
    return value


def _is_readable(text: str) -> bool:
    """Whether a text can be encoded: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _fit_union(choices: Iterable[Any], value: Any) -> Any:
    choices = tuple(choices)
    # whole numbers pass as floats, so look for an exact type first
    for choice in sorted(choices, key=lambda c: c is float):
        try:
            return _fit(choice, value)
        except UnfitValue:
            continue
    raise UnfitValue


def _fit_container(origin: Any, items: tuple[Any, ...], value: Any) -> Any:
    if origin is tuple:
        if not isinstance(value, tuple | list):
            raise UnfitValue
        if len(items) == 2 and items[1] is Ellipsis:
            return tuple(_fit(items[0], item) for item in value)
        if len(items) != len(value):
            raise UnfitValue
        return tuple(_fit(hint, item) for hint, item in zip(items, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise UnfitValue
        key, held = items
        return {_fit(key, k): _fit(held, v) for k, v in value.items()}
    if isinstance(origin, type) and issubclass(origin, frozenset | set):
        if not isinstance(value, set | frozenset | tuple | list):
            raise UnfitValue
        return origin(_fit(items[0], item) for item in value)
    if isinstance(origin, type) and issubclass(origin, Sequence | Iterable) and len(items) == 1:
        if isinstance(value, str | bytes) or not isinstance(value, origin):
            raise UnfitValue
        return tuple(_fit(items[0], item) for item in value)
    if isinstance(origin, type) and not isinstance(value, origin):
        raise UnfitValue
    return value


def _constrain(meta: Meta, value: Any) -> None:
    """Raise `UnfitValue` if a value of the right type is out of range."""
    if value is None:
        return
    size = len(value) if hasattr(value, "__len__") else None
    fits = (
        (meta.ge is None or value >= meta.ge)
        and (meta.gt is None or value > meta.gt)
        and (meta.le is None or value <= meta.le)
        and (meta.lt is None or value < meta.lt)
        and (meta.multiple_of is None or value % meta.multiple_of == 0)
        and (meta.pattern is None or re.search(meta.pattern, value) is not None)
        and (meta.min_length is None or size is None or size >= meta.min_length)
        and (meta.max_length is None or size is None or size <= meta.max_length)
    )
    if not fits:
        raise UnfitValue


# Saying what is accepted

_NAMES = {int: "an integer", float: "a number", str: "a text", bool: "True or False", None: "None"}


def in_words(hint: Any) -> str:
    """What an annotation accepts, in words: 'an integer from 1 to 127'."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        words = [w for m in _metas(hint) for w in _limits(m)]
        if get_origin(inner[0]) in (Union, types.UnionType):
            return _either(get_args(inner[0]), words)
        return " ".join([in_words(inner[0]), *words])
    if origin is Literal:
        return " or ".join(repr(choice) for choice in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(in_words(choice) for choice in inner)
    if origin is tuple:
        if len(inner) == 2 and inner[1] is Ellipsis:
            return f"a list (each item {in_words(inner[0])})"
        return f"a list of {len(inner)} items: {', '.join(in_words(item) for item in inner)}"
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return f"a mapping from {in_words(inner[0])} to {in_words(inner[1])}"
    if origin is not None and isinstance(origin, type) and issubclass(origin, Iterable) and inner:
        return f"a list (each item {in_words(inner[0])})"
    if hint is type(None):
        return "None"
    if hint in (Any, object):
        return "anything"
    name: str = getattr(hint, "__name__", str(hint))
    return _NAMES.get(hint) or f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def _either(choices: tuple[Any, ...], words: list[str]) -> str:
    """The description of a union; the limits in `words` apply to the members other than None."""
    named = [" ".join([in_words(choice), *words]) for choice in choices if choice is not type(None)]
    return " or ".join([*named, *(["None"] if type(None) in choices else [])])


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.9g}"


def _limits(meta: Meta) -> list[str]:
    words = []
    if meta.ge is not None and meta.le is not None:
        words.append(f"from {_number(meta.ge)} to {_number(meta.le)}")
    else:
        words += [f"at least {_number(meta.ge)}"] if meta.ge is not None else []
        words += [f"at most {_number(meta.le)}"] if meta.le is not None else []
    words += [f"above {_number(meta.gt)}"] if meta.gt is not None else []
    words += [f"below {_number(meta.lt)}"] if meta.lt is not None else []
    words += [f"divisible by {_number(meta.multiple_of)}"] if meta.multiple_of is not None else []
    words += [f"that matches {meta.pattern!r}"] if meta.pattern is not None else []
    if meta.min_length is not None and meta.max_length is not None:
        lengths = {meta.min_length, meta.max_length}
        words.append(f"of length {' to '.join(map(str, sorted(lengths)))}")
    else:
        words += [f"of length {meta.min_length} or more"] if meta.min_length is not None else []
        words += [f"of length {meta.max_length} or less"] if meta.max_length is not None else []
    return words


# Checks by hand, for conditions that no annotation can state


def check_ranges(game: Any, ranges: Iterable[Range]) -> None:
    """Raise `InvalidOption` for the first option of `game` outside its range.

    ranges: each as (name, least, most), where most is None if there is no upper limit.
    """
    for name, low, high in ranges:
        value = getattr(game, name)
        in_range = isinstance(value, int | float | np.number) and low <= value
        if not in_range or (high is not None and value > high):
            limits = f"at least {low:.9g}" if high is None else f"from {low:.9g} to {high:.9g}"
            raise InvalidOption(f"{name} must be {limits}, not {show(value)}")


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise `InvalidOption` if `value`, of the option `name`, is not among the `choices`."""
    if value not in choices:
        raise InvalidOption(f"{name} must be {' or '.join(choices)}, not {show(value)}")
