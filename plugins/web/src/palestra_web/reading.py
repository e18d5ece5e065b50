"""Parsing a page from its lines, the only input of scripted agents."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from palestra import InvalidOption, Turn

_ROLES = (
    "link|button|textbox|checkbox|radio|combobox|option|heading|paragraph|img|region|list|listitem"
    "|table|row|cell|columnheader"
)
_LINE = re.compile(rf"^( *)(?:\[(\d+)\] )?({_ROLES})(?: (.*))?$", re.MULTILINE)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


@dataclass(frozen=True, slots=True)
class ScreenElement:
    """An element read from its line; `number` is 0 if it cannot be acted on."""

    number: int
    role: str
    name: str = ""
    value: str = ""  # the text of a field
    chosen: bool = False
    depth: int = 0


def read_page(text: str) -> list[ScreenElement]:
    """The numbered elements of a page's lines."""
    return [element for element in read_lines(text) if element.number]


def read_lines(text: str) -> list[ScreenElement]:
    """Every element of a page's lines."""
    found = []
    for spaces, number, role, rest in _LINE.findall(text):
        words = _QUOTED.findall(rest)
        values = [str(ast.literal_eval(word)) for word in words]
        if rest.startswith("value="):  # a field without a name
            values.insert(0, "")
        name, value = [*values, "", ""][:2]
        chosen = rest.endswith("(chosen)")
        found.append(ScreenElement(int(number or 0), role, name, value, chosen, len(spaces) // 2))
    return found


def find(seen: Sequence[ScreenElement], role: str, name: str) -> ScreenElement:
    """The first element with a role and a name; raises `LookupError` if there is none."""
    for element in seen:
        if element.role == role and element.name == name:
            return element
    shown = ", ".join(f"{e.role} {e.name!r}" for e in seen[:20])
    raise LookupError(f"no {role} {name!r} on this page; there are {shown}")


def task_of(turn: Turn) -> str:
    """The task in the position; raises `InvalidOption` if the environment is not a website."""
    for line in turn.position.splitlines():
        if line.startswith("Task: "):
            return line.removeprefix("Task: ")
    raise InvalidOption(f"{turn.env} is not a website: its positions name no task")


def address_of(turn: Turn) -> str:
    """The address of the page that the seat sees; raises `InvalidOption` like `task_of`."""
    for line in turn.position.splitlines():
        if line.startswith("Page "):
            return line.split()[1]
    raise InvalidOption(f"{turn.env} is not a website: its positions name no page")
