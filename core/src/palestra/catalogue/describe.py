"""Options of games, agents and rewards in words, as catalogues and `palestra info` show them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from palestra.kernel.options import in_words, meta_of, option_hints, parameter_hints
from palestra.kernel.specs import OptionSpec


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
