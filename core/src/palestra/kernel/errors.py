"""Everything Palestra raises on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

LONGEST_WHY = 1_000  # characters of the reason for which a move or an option is refused


class PalestraError(Exception):
    """The one class to catch."""


class UnknownName(PalestraError, LookupError):
    """A name that is not registered; the message suggests the nearest ones. Also a LookupError.

    kind: what was looked up, such as "agent"; alone, it is the whole message.
    name: what came. known: the names there are. hint: a sentence on what to do next.
    """

    def __init__(
        self, kind: str, name: object = ..., known: Iterable[str] = (), hint: str = ""
    ) -> None:
        if name is ...:  # a complete message: Gymnasium creates the error again with its own text
            super().__init__(kind)
            self.name, self.close = "", []
            return
        names = sorted(known)
        name = name[:120] if isinstance(name, str) else show(name)
        close = _close(name, names)
        message = self._opening(kind, name)
        if close:
            message += f"; did you mean {' or '.join(repr(c) for c in close)}?"
        elif names:
            message += f"; choose from: {', '.join(names[:20])}{', …' * (len(names) > 20)}"
        stop = "" if message.endswith("?") else "."
        super().__init__(f"{message}{stop} {hint}" if hint else message)
        self.name, self.close = name, close

    @staticmethod
    def _opening(kind: str, name: str) -> str:
        return f"unknown {kind} {name!r}"


class UnknownOption(UnknownName, TypeError):
    """An option that a constructor does not have, with Python's usual message."""

    @staticmethod
    def _opening(kind: str, name: str) -> str:
        return f"{kind} got an unexpected keyword argument {name!r}"


def _close(name: str, names: Sequence[str]) -> list[str]:
    """The nearest names, compared without namespace, version and case."""
    by_core: dict[str, list[str]] = {}
    for known in names:
        by_core.setdefault(_core(known), []).append(known)
    near = get_close_matches(_core(name), by_core, n=3, cutoff=0.6)
    return [known for core in near for known in by_core[core]][:3]


def _core(name: str) -> str:
    return re.sub(r"-v\d+$", "", name.rpartition("/")[2]).lower()


class InvalidOption(PalestraError, ValueError):
    """An option whose value cannot be used; a long `message` is cut. Also a ValueError."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message if len(message) <= LONGEST_WHY else f"{message[:LONGEST_WHY]}…")


class InvalidAction(PalestraError, ValueError):
    """A move that cannot be played. Also a ValueError.

    read: what was received. legal: what would have been accepted, in words.
    example: one legal move, as it must be written. why: the reason for the refusal.
    """

    def __init__(self, read: object, legal: str, example: str = "", why: str = "") -> None:
        if len(why) > LONGEST_WHY:  # it may quote the input
            why = f"{why[:LONGEST_WHY]}…"
        message = f"cannot play {show(read)}"
        if why:
            message += f": {why}"
        message += f"; legal: {legal}"
        if example:
            message += f"; for example: {example}"
        super().__init__(message)
        self.read, self.legal, self.example, self.why = read, legal, example, why


def cause(error: BaseException) -> str:
    """An exception in one line for a message: its type and its text."""
    try:
        said = str(error)
    except BaseException:  # a __str__ that raises
        return type(error).__name__
    return f"{type(error).__name__}: {show(said)}"


def show(value: object, limit: int = 120) -> str:
    """A value for a message: its repr, cut to `limit` characters, whatever the value is."""
    if isinstance(value, str | bytes) and len(value) > limit:
        value = value[:limit]  # repr of a megabyte takes time
        return f"{value!r}…"
    try:
        text = repr(value)
    except BaseException:  # an integer of 5,000 digits, a __repr__ that raises
        text = f"<{type(value).__name__}>"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class OutOfTurn(PalestraError, ValueError):
    """Actions that do not match the players who are to act. Also a ValueError."""


class MissingExtra(PalestraError, ImportError):
    """`what` is optional and not installed: `pip install "{install}"`. Also an ImportError."""

    def __init__(self, what: str, install: str) -> None:
        super().__init__(f'{what} is not installed; run: pip install "{install}"')
        self.install = install


class PluginError(PalestraError):
    """A plugin could not be used."""


class RecordError(PalestraError, ValueError):
    """A record file that cannot be read from `line` (counted from 1) on. Also a ValueError.

    path: the file. why: what is wrong there. kept: how many good episodes come before it.
    """

    def __init__(self, path: object, line: int, why: str, kept: int) -> None:
        super().__init__(f"{path}, line {line}: {why} ({kept} good episodes before it were kept)")
        self.path, self.line, self.kept = path, line, kept


class Divergence(PalestraError):
    """A replay that differs from its record at `turn` (counted from 0).

    what: the field that differs. recorded, replayed: its two values.
    """

    def __init__(self, turn: int, what: str, recorded: object, replayed: object) -> None:
        super().__init__(
            f"replay diverges at turn {turn}: {what} was {show(recorded)} in the record "
            f"and is {show(replayed)} now"
        )
        self.turn, self.what = turn, what


class ModelError(PalestraError):
    """A language model that cannot answer; the message says what to do about it."""


class BudgetSpent(PalestraError):
    """A run reached a hard limit of its budget."""
