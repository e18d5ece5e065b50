"""Calling constructors with options typed by a user."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from palestra.kernel.errors import InvalidOption, UnknownOption
from palestra.kernel.options import fit_option, parameter_hints


def construct(make: Callable[..., Any], what: str, options: Mapping[str, Any]) -> Any:
    """Call a constructor; for an unknown option, raise an error that lists the known ones.

    Exceptions of the constructor itself are not changed.
    """
    accepted = {
        name: parameter
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(make).parameters.values())
    unknown = [] if takes_any else [name for name in options if name not in accepted]
    if unknown:
        hint = "" if accepted else "It takes no options."
        raise UnknownOption(what, unknown[0], accepted, hint)
    checks_itself = inspect.isclass(make) and hasattr(make, "validate")  # as every game does
    hints = {} if checks_itself else parameter_hints(make)
    fitted = {
        name: fit_option(name, hints[name], value, what) if name in hints else value
        for name, value in options.items()
    }
    try:
        inspect.signature(make).bind(**fitted)
    except TypeError as error:
        raise InvalidOption(f"{what}: {error}") from None
    return make(**fitted)
