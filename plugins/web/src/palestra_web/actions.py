"""What a person does in a browser, as typed actions; elements are named by their numbers.

Written as `Click(element=12)`; the names of BrowserGym are read as well: `click('12')`,
`fill('7', 'red shoes')`, `select_option('9', 'Blue')`, `go_back()`, `send_msg_to_user('42')`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from palestra import Rng, TextAction


class Click(TextAction, frozen=True):
    """Follow a link, press a button, tick or pick something."""

    element: int


class Fill(TextAction, frozen=True):
    """Put text into a field, in place of what is there."""

    element: int
    text: str


class Copy(TextAction, frozen=True):
    """Put a phrase of the task into a field; phrases are numbered from 1."""

    element: int
    phrase: int


class Select(TextAction, frozen=True):
    """Pick an option of a combobox by its name."""

    element: int
    option: str


class Press(TextAction, frozen=True):
    """Press a key while in a field of one line: Enter sends the form."""

    element: int
    key: str


class Goto(TextAction, frozen=True):
    """Open an address of this site, such as '/'."""

    url: str


class Back(TextAction, frozen=True):
    """Return to the page before."""


class Scroll(TextAction, frozen=True):
    """Move the view 'up' or 'down' a long page."""

    direction: str


class Stop(TextAction, frozen=True):
    """Say that you are done, with the answer if the task asks for one."""

    answer: str = ""


ACTIONS: tuple[type[TextAction], ...] = (
    *(Click, Fill, Copy, Select, Press, Goto, Back, Scroll, Stop),
)

_OTHERS = {
    "select_option": "Select",
    "go_back": "Back",
    "send_msg_to_user": "Stop",
    **{kind.__name__.lower(): kind.__name__ for kind in ACTIONS},
}
_CALL = re.compile(rf"\b({'|'.join(_OTHERS)})(?=\()")
_QUOTED = re.compile(r"\b(Click|Fill|Copy|Select|Press)\(\s*(element\s*=\s*)?(['\"])(\d+)\3")
_PIXELS = re.compile(r"\bScroll\(\s*-?[\d.]+\s*,\s*(-?)[\d.]+\s*\)")


def in_our_words(text: str) -> str:
    """BrowserGym's way of writing an action, in ours."""
    text = _CALL.sub(lambda match: _OTHERS[match.group(1)], text)
    text = _QUOTED.sub(r"\1(\2\4", text)
    return _PIXELS.sub(lambda match: f"Scroll('{'up' if match.group(1) else 'down'}')", text)


_ADDRESS = r"/([A-Za-z0-9_-]+/)*[A-Za-z0-9_-]*(\?[A-Za-z0-9_=&+-]*)?"


@dataclass(frozen=True, slots=True)
class Address:
    """A path of the site, with a query if one likes; nothing that could lead elsewhere."""

    limit: int = 200

    def problem(self, value: object) -> str | None:
        if isinstance(value, str) and len(value) <= self.limit and re.fullmatch(_ADDRESS, value):
            return None
        return f"must be a path of this site, as in '/' or '/search?q=red+shoes', not {value!r}"

    def sample(self, rng: Rng) -> Any:
        return "/"

    def pattern(self, chars: int) -> str:
        return rf"'/([A-Za-z0-9_-]{{1,{max(1, min(chars, 20))}}})?'"

    def longest(self, chars: int) -> int:
        return 23

    def __str__(self) -> str:
        return "'/path'"
