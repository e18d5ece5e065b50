"""The audit log: a line for each match opened, seat taken, answer and refusal, without secrets.

Answers are the many. Their lines are written together, after the journal has the answers and before
anybody is notified. Elsewhere than in `palestra serve` each line is a record of the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from palestra_server.messages import Answer

log = logging.getLogger("palestra.server.audit")
Line = dict[str, Any]
_kept: list[Line] = []


def note(event: str, match: str = "", seat: int | None = None, **more: Any) -> None:
    """Write a line, after those that were kept; its fields are in a JSON log by name."""
    line = {"event": event, "match": match, "seat": seat, **more}
    _kept.append({name: value for name, value in line.items() if value not in ("", None)})
    write_kept()


def keep(event: str, match: str, seat: int | None = None) -> None:
    """A line for the next `write_kept`."""
    _kept.append({"event": event, "match": match, **({} if seat is None else {"seat": seat})})


def write_kept() -> None:
    """Write all lines that were kept."""
    global _kept
    if _kept:
        lines, _kept = _kept, []
        if log.isEnabledFor(logging.INFO):
            _write(lines)


def write_by(write: Callable[[Sequence[Line]], None]) -> None:
    """From now on, write lines of the audit log by `write`, past the log of Python.

    A record of that log costs a fifth of a whole move.
    """
    global _write
    _write = write


def words_of(line: Line) -> str:
    """A line as text."""
    words = [f"{name}={value!r}" for name, value in line.items() if name != "event"]
    return " ".join((line["event"], *words))


def kind_of(answer: Answer) -> str:
    """What the log calls an answer."""
    if answer.resigned:
        return "resign"
    return "reclaim" if answer.reclaimed else "rename" if answer.called else "move"


def _records(lines: Sequence[Line]) -> None:
    for line in lines:
        log.info("%s", words_of(line), extra=line)


_write: Callable[[Sequence[Line]], None] = _records
