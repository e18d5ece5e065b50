"""Reading a page as its lines tell it: what scripted agents go by, as a person would."""

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
class Seen:
    """An element as a line tells it; `value` is a field's text, `number` 0 if it has none."""

    number: int
    role: str
    name: str = ""
    value: str = ""
    chosen: bool = False
    depth: int = 0


def read_page(text: str) -> list[Seen]:
    """The numbered elements of a page's lines."""
    return [element for element in read_lines(text) if element.number]


def read_lines(text: str) -> list[Seen]:
    """Every element of a page's lines."""
    found = []
    for spaces, number, role, rest in _LINE.findall(text):
        words = _QUOTED.findall(rest)
        values = [str(ast.literal_eval(word)) for word in words]
        if rest.startswith("value="):  # a field without a name
            values.insert(0, "")
        name, value = [*values, "", ""][:2]
        chosen = rest.endswith("(chosen)")
        found.append(Seen(int(number or 0), role, name, value, chosen, len(spaces) // 2))
    return found


def find(seen: Sequence[Seen], role: str, name: str) -> Seen:
    """The first element of a role and a name."""
    for element in seen:
        if element.role == role and element.name == name:
            return element
    shown = ", ".join(f"{e.role} {e.name!r}" for e in seen[:20])
    raise LookupError(f"no {role} {name!r} on this page; there are {shown}")


def task_of(turn: Turn) -> str:
    """The task, as the position says it."""
    for line in turn.position.splitlines():
        if line.startswith("Task: "):
            return line.removeprefix("Task: ")
    raise InvalidOption(f"{turn.env} is not a website: its positions name no task")


def address_of(turn: Turn) -> str:
    """The address of the page in front of the seat."""
    for line in turn.position.splitlines():
        if line.startswith("Page "):
            return line.split()[1]
    raise InvalidOption(f"{turn.env} is not a website: its positions name no page")
