"""Browser actions as typed actions that name elements by number.

They are written as `Click(element=12)`. BrowserGym's syntax is accepted too: `click('12')`,
`fill('7', 'red shoes')`, `select_option('9', 'Blue')`, `go_back()`, `send_msg_to_user('42')`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from palestra import Rng, TextAction


class Click(TextAction, frozen=True):
    """Follow a link, press a button, tick a box or pick an option."""

    element: int


class Fill(TextAction, frozen=True):
    """Replace the content of a field by a text."""

    element: int
    text: str


class Copy(TextAction, frozen=True):
    """Replace the content of a field by a phrase of the task; phrases are numbered from 1."""

    element: int
    phrase: int


class Select(TextAction, frozen=True):
    """Pick an option of a combobox by its name."""

    element: int
    option: str


class Press(TextAction, frozen=True):
    """Press a key in a field of one line; Enter sends its form."""

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
    """Stop, with the answer if the task asks for one."""

    answer: str = ""


ACTIONS: tuple[type[TextAction], ...] = (
    *(Click, Fill, Copy, Select, Press, Goto, Back, Scroll, Stop),
)

_BROWSERGYM_NAMES = {
    "select_option": "Select",
    "go_back": "Back",
    "send_msg_to_user": "Stop",
    **{kind.__name__.lower(): kind.__name__ for kind in ACTIONS},
}
CALLS = frozenset(_BROWSERGYM_NAMES) | {kind.__name__ for kind in ACTIONS}
_CALL = re.compile(rf"\A({'|'.join(_BROWSERGYM_NAMES)})(?=\()")
_QUOTED = re.compile(r"\A(Click|Fill|Copy|Select|Press)\(\s*(element\s*=\s*)?(['\"])(\d+)\3")
_PIXELS = re.compile(r"\AScroll\(\s*-?[\d.]+\s*,\s*(-?)[\d.]+\s*\)")


def from_browsergym(text: str) -> str:
    """Convert an action from BrowserGym's syntax to Palestra's; return other text unchanged."""
    text = _CALL.sub(lambda match: _BROWSERGYM_NAMES[match.group(1)], text)
    text = _QUOTED.sub(r"\1(\2\4", text)
    return _PIXELS.sub(lambda match: f"Scroll('{'up' if match.group(1) else 'down'}')", text)


_ADDRESS = r"/([A-Za-z0-9_-]+/)*[A-Za-z0-9_-]*(\?[A-Za-z0-9_=&+-]*)?"


@dataclass(frozen=True, slots=True)
class Address:
    """A path within the site, with or without a query; it cannot name another site."""

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
