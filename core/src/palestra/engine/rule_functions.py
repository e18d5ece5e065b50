"""The functions that the rules of an array game consist of, and copies of them.

Compiled rules, rules on a device and checked rules are copies of the plain ones, which stay as they
are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from palestra.kernel.array_game import ArrayGame

RULES = ("init_state", "apply_actions", "write_legal_mask", "write_observation", "scripted_action")


def rule_functions(game: ArrayGame) -> dict[str, FunctionType]:
    """The rules of a game by name, as plain functions."""
    return {name: getattr(type(game), name) for name in RULES}


def reachable_functions(functions: Iterable[FunctionType]) -> set[FunctionType]:
    """These functions and all that they call, directly or not."""
    found: set[FunctionType] = set()
    queue = list(functions)
    while queue:
        function = queue.pop()
        if function not in found:
            found.add(function)
            queue += [helper for _, helper in helpers_of(function)]
    return found


def device_functions(
    functions: dict[str, FunctionType],
    compile_one: Callable[[FunctionType], Any],
    suffix: str = "",
    made: dict[FunctionType, Any] | None = None,
) -> dict[str, Any]:
    """Compile rules together with every plain function they reach, each once.

    A copy of each function gets the compiled helpers among its globals; the original module is not
    changed, so that the same rules can still run interpreted. `suffix` makes the names of the
    machine code unique: otherwise code compiled by two processes could share names, and whichever
    is loaded from the cache first would be used for both. `made` holds the functions compiled so
    far; new ones are added to it.
    """
    made = {} if made is None else made

    def build(function: FunctionType) -> Any:
        if function not in made:
            copy = FunctionType(
                function.__code__,
                dict(function.__globals__),
                function.__name__,
                function.__defaults__,
                function.__closure__,
            )
            copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__ + suffix
            for name, helper in helpers_of(function):
                copy.__globals__[name] = build(helper)
            made[function] = compile_one(copy)
        return made[function]

    return {name: build(function) for name, function in functions.items()}


def helpers_of(function: FunctionType) -> Iterator[tuple[str, FunctionType]]:
    """The plain Python functions among the globals a function reads."""
    for name in global_names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            yield name, value


def global_names(code: CodeType) -> Iterator[str]:
    """The names of globals and attributes that code reads, in the order of the code."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from global_names(constant)
