"""Tools as declarations: name, documentation, typed parameters, and whether they write.

A call is written as in Python, `search_flights(origin='Lima', day=1)`, and kept as a `Call` with
its arguments in one canonical line of JSON. It is illegal to call an unknown tool, or to pass
anything but named values. A wrong name or value is not an illegal move: the tool answers with an
error, which a model reads in its own transcript.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any

import msgspec
from palestra import InvalidAction, Option, Rng, Text, TextAction
from palestra.agents.models import FunctionTool
from palestra.kernel.actions import Domain
from palestra.llm.tool_calls import closed_object, domain_schema, write_call
from palestra.sandbox import check_program
from palestra.single_keys import read_single

EMPTY: Mapping[str, Sequence[str]] = {}
MOST_CHARACTERS = 8000  # of a call's arguments


class Call(TextAction, frozen=True):
    """Call a tool; `arguments` is a JSON object, whose keys are kept in sorted order."""

    tool: str
    arguments: str = "{}"

    def __post_init__(self) -> None:
        values = read_arguments(self.arguments)
        if values is not None:
            msgspec.structs.force_setattr(self, "arguments", write_arguments(values))

    @property
    def values(self) -> dict[str, Any]:
        """The arguments by name; empty if they cannot be parsed."""
        return read_arguments(self.arguments) or {}


class Answer(TextAction, frozen=True):
    """End the episode with an answer."""

    text: str


class Done(TextAction, frozen=True):
    """End the episode: the task is done."""


class Program(TextAction, frozen=True):
    """Run a Python program that calls tools as functions and prints what it finds."""

    code: str


def call(tool: str, **arguments: Any) -> Call:
    """Make a call; raises ValueError or TypeError for arguments that JSON cannot hold."""
    return Call(tool, write_arguments(arguments))


def write_arguments(values: Mapping[str, Any]) -> str:
    """Arguments as one line of JSON, the same for equal arguments."""
    return json.dumps(values, sort_keys=True, ensure_ascii=False, allow_nan=False)


def read_arguments(text: object) -> dict[str, Any] | None:
    """The named values in a JSON object; None for any other text."""
    try:
        values = read_single(text, strict=False)  # type: ignore[arg-type]
        write_arguments(values).encode()
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    named = all(name.isidentifier() and not iskeyword(name) for name in values)
    return values if named else None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool; a call must give every one."""

    name: str
    domain: Domain
    doc: str = ""

    def schema(self) -> dict[str, Any]:
        """Its JSON schema."""
        described = {"description": self.doc} if self.doc else {}
        return domain_schema(self.domain) | described


@dataclass(frozen=True, slots=True)
class Tool:
    """The declaration of a tool."""

    name: str
    doc: str
    parameters: tuple[Parameter, ...] = ()
    writes: bool = False  # whether it may change anything
    returns: tuple[str, ...] = ()  # names of the values in its answer, as parameters name them
    requires: str = ""  # a condition before the call, such as "order_status=open"
    ensures: str = ""  # a condition after it

    def problem(self, values: Mapping[str, Any]) -> str | None:
        """The error in a call's arguments; None if there is none."""
        known = [parameter.name for parameter in self.parameters]
        for name in values:
            if name not in known:
                return f"unknown argument {name!r}; {self.name} takes {', '.join(known) or 'none'}"
        for parameter in self.parameters:
            if parameter.name not in values:
                return f"argument {parameter.name!r} is missing"
            why = parameter.domain.problem(values[parameter.name])
            if why:
                return f"{parameter.name} {why}"
        return None

    def as_function(self) -> FunctionTool:
        """The declaration as a function that a model may call."""
        schemas = {p.name: p.schema() for p in self.parameters}
        return FunctionTool(self.name, self.doc, closed_object(schemas, schemas))

    def write(self, values: Mapping[str, Any]) -> str:
        """A call as text, with its arguments in the order of their declaration."""
        order = [p.name for p in self.parameters if p.name in values]
        order += [name for name in values if name not in order]
        return write_call(self.name, {name: values[name] for name in order})

    def sample(self, rng: Rng, known: Mapping[str, Sequence[str]] = EMPTY) -> Call:
        """A random call; arguments with `known` values are mostly drawn from those."""
        values = {}
        for parameter in self.parameters:
            values[parameter.name] = parameter.domain.sample(rng)
            if parameter.name in known and rng.below(4):
                values[parameter.name] = rng.choice(known[parameter.name])
        return call(self.name, **values)

    def pattern(self, chars: int) -> str:
        """A regular expression for a call, with texts of at most so many characters."""
        inner = ", ".join(f"{p.name}={p.domain.pattern(chars)}" for p in self.parameters)
        return rf"{self.name}\({inner}\)"

    def longest(self, chars: int) -> int:
        """The number of characters of the longest call, with texts of at most so many."""
        given = sum(len(f", {p.name}=") + p.domain.longest(chars) for p in self.parameters)
        return len(f"{self.name}()") + given

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{p.name}={p.domain}' for p in self.parameters)})"


@dataclass(frozen=True, slots=True)
class Calls(Option):
    """The legal calls: any call of these tools."""

    tools: tuple[Tool, ...] = ()

    def problem(self, action: TextAction) -> str | None:
        if not isinstance(action, Call) or all(t.name != action.tool for t in self.tools):
            return f"there is no tool {getattr(action, 'tool', action)!r}"
        if read_arguments(action.arguments) is None:
            return f"arguments must be named values that JSON can hold, not {action.arguments!r}"
        if len(action.arguments) > MOST_CHARACTERS:
            return f"arguments take more than {MOST_CHARACTERS} characters"
        return None

    def sample(self, rng: Rng) -> TextAction:
        return rng.choice(self.tools).sample(rng)

    def pattern(self, chars: int) -> str:
        return f"({'|'.join(tool.pattern(chars) for tool in self.tools)})"

    def longest(self, chars: int) -> int:
        return max(tool.longest(chars) for tool in self.tools)

    def function_tools(self) -> list[FunctionTool]:
        """The tools as functions that a model may call."""
        return [tool.as_function() for tool in self.tools]

    def as_call(self, action: Call) -> tuple[str, Mapping[str, Any]]:
        """The tool and the arguments of a call."""
        return action.tool, action.values

    def __str__(self) -> str:
        return " or ".join(map(str, self.tools))


@dataclass(frozen=True, slots=True)
class Programs(Option):
    """The legal programs: any that the sandbox can run."""

    def problem(self, action: TextAction) -> str | None:
        try:
            check_program(getattr(action, "code", ""))
        except InvalidAction as error:
            return error.why
        return Option.problem(self, action)

    def pattern(self, chars: int) -> str:
        """A pattern for trivial programs, since no regular expression can describe Python."""
        return r"Program\(code='print\([0-9]{1,9}\)'\)"

    def longest(self, chars: int) -> int:
        return len("Program(code='print(123456789)')")


PROGRAMS = Programs(Program, {"code": Text(MOST_CHARACTERS, ("print('ready')",))})


def calls(tools: tuple[Tool, ...]) -> Calls:
    """The legal calls of some tools; a free-text domain marks that they cannot be listed."""
    return Calls(Call, {"arguments": Text(MOST_CHARACTERS)}, tools)
