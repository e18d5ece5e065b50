"""Options of games, agents and rewards in words, as catalogues and `palestra info` show them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Meta

from palestra.kernel.options import in_words, limits_of, meta_of, option_hints, parameter_hints
from palestra.kernel.specs import OptionSpec

FILE = Meta(extra={"file": True})  # marks an option whose values can be paths of files or folders
FilePath = Annotated[str, FILE]  # such an option; a server lets no client choose its value


def describe_options(kind: Any) -> tuple[OptionSpec, ...]:
    """The options of a game class, in order, as `palestra info` and the documentation show them."""
    defaults = {f.name: f for f in fields(kind) if f.init} if is_dataclass(kind) else {}
    return tuple(
        _spec(name, hint, defaults[name].default, defaults[name].default_factory)
        for name, hint in option_hints(kind).items()
    )


def described_parameters(make: Callable[..., Any]) -> tuple[OptionSpec, ...]:
    """The options of an agent, a shaper or anything else that is created by a call."""
    hints, found = parameter_hints(make), []
    for name, parameter in inspect.signature(make).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or name == "seed":
            continue
        default = MISSING if parameter.default is parameter.empty else parameter.default
        found.append(_spec(name, hints.get(name, Any), default, MISSING))
    return tuple(found)


def reward_options(make: Callable[..., Any]) -> tuple[OptionSpec, ...]:
    """The options of a shaper or estimator, without what each call hands to a function."""
    handed: set[str] = set()
    if not inspect.isclass(make):
        parameters = inspect.signature(make).parameters.values()
        positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        handed = {p.name for p in positional if p.default is p.empty}
    return tuple(option for option in described_parameters(make) if option.name not in handed)


def _spec(name: str, hint: Any, default: Any, factory: Any) -> OptionSpec:
    if default is MISSING and factory is not MISSING:
        default = factory()
    unit = (meta_of(hint, "extra") or {}).get("unit", "")
    return OptionSpec(
        name=name,
        accepts=in_words(hint),
        default="" if default is MISSING else repr(default),
        description=meta_of(hint, "description") or "",
        unit=unit,
    )


def option_range(kind: Any, name: str) -> tuple[int, int] | None:
    """The minimum and maximum that an integer option declares; None if it declares none."""
    hint = option_hints(kind).get(name)
    low, high = meta_of(hint, "ge"), meta_of(hint, "le")
    return None if low is None or high is None else (int(low), int(high))


def names_file(hint: Any) -> bool:
    """Whether values of an annotation can be paths of files, as `FilePath` and `FILE` declare."""
    marked = any(
        (meta.extra or {}).get("file") for meta in get_args(hint)[1:] if isinstance(meta, Meta)
    )
    return marked or any(names_file(inner) for inner in get_args(hint))


def is_bounded(hint: Any) -> bool:
    """Whether an annotation accepts only listed choices, or numbers between two limits."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return all(map(is_bounded, inner))
    if origin is Annotated:
        limits = limits_of(hint).keys()
        between = bool({"ge", "gt"} & limits) and bool({"le", "lt"} & limits)
        return is_bounded(inner[0]) or (between and inner[0] in (int, float))
    return origin is Literal or hint in (bool, type(None))
