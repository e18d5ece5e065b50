"""Names with options, such as `mcts:simulations=200`, and constructors called with them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from palestra.kernel.errors import InvalidOption, UnknownOption
from palestra.kernel.options import fit_option, parameter_hints

_OPTION = re.compile(r"^[a-z_]+=")


def parse_agent(text: str) -> tuple[str, dict[str, Any], str]:
    """Split `name:key=value,key=value` or `name:rest` into name, options and the rest.

    Values are read as numbers or true/false where they look like it: `mcts:simulations=200`.
    In `llm:vllm:Qwen/Qwen3-4B,mode=choice` the rest is `vllm:Qwen/Qwen3-4B`.
    """
    name, _, tail = text.partition(":")
    options: dict[str, Any] = {}
    rest = []
    for part in tail.split(",") if tail else []:
        if _OPTION.match(part):
            key, _, value = part.partition("=")
            options[key] = _value(value)
        else:
            rest.append(part)
    return name, options, ",".join(rest)


def _value(text: str) -> Any:
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def construct(make: Callable[..., Any], what: str, options: Mapping[str, Any]) -> Any:
    """Call a constructor, turning options it does not have into a sentence about those it has.

    What the constructor itself raises is left as it is.
    """
    accepted = {
        name: parameter
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(make).parameters.values())
    unknown = [] if takes_any else [name for name in options if name not in accepted]
    if unknown:
        raise UnknownOption(what, unknown[0], accepted, _none_hint(accepted))
    hints = {} if _checks_itself(make) else parameter_hints(make)
    fitted = {
        name: fit_option(name, hints[name], value, what) if name in hints else value
        for name, value in options.items()
    }
    try:
        inspect.signature(make).bind(**fitted)
    except TypeError as error:
        raise InvalidOption(f"{what}: {error}") from None
    return make(**fitted)


def _checks_itself(make: Any) -> bool:
    """Games check their options wherever they are made."""
    return inspect.isclass(make) and hasattr(make, "validate")


def _none_hint(accepted: Mapping[str, Any]) -> str:
    return "" if accepted else "(it takes no options)"
