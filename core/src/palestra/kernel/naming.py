"""Calling constructors with options typed by a user."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from palestra.kernel.errors import InvalidOption, UnknownOption
from palestra.kernel.options import fit_option, parameter_hints


def construct(make: Callable[..., Any], what: str, options: Mapping[str, Any]) -> Any:
    """Call a constructor with options that are checked; its own exceptions are not changed."""
    given = fit_arguments(make, what, options)
    try:
        inspect.signature(make).bind(**given)
    except TypeError as error:
        raise InvalidOption(f"{what}: {error}") from None
    return make(**given)


def fit_arguments(
    make: Callable[..., Any], what: str, options: Mapping[str, Any], leading: int = 0
) -> dict[str, Any]:
    """Options as annotations ask for them; the first `leading` arguments of `make` are no options.

    Raises `UnknownOption`, which lists the known ones, or `InvalidOption`.
    """
    parameters = list(inspect.signature(make).parameters.values())[leading:]
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    accepted = [parameter.name for parameter in parameters if parameter.kind in named]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    unknown = [] if takes_any else [name for name in options if name not in accepted]
    if unknown:
        raise UnknownOption(what, unknown[0], accepted, "" if accepted else "It takes no options.")
    checks_itself = inspect.isclass(make) and hasattr(make, "validate")  # as every game does
    hints = {} if checks_itself else parameter_hints(make)
    return {
        name: fit_option(name, hints[name], value, what) if name in hints else value
        for name, value in options.items()
    }
