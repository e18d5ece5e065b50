"""The server's log: lines for people, or one JSON object a line for programs."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from palestra_server import audit

FIELDS = ("match", "seat", "env", "event", "reason", "peer", "count")  # that a record may carry


class JsonLines(logging.Formatter):
    """A record as a JSON object: time, level, logger, message, and what it is about."""

    def format(self, record: logging.LogRecord) -> str:
        told = _head(record.created, record.levelname.lower(), record.name)
        told["message"] = record.getMessage()
        told |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(told).decode()


def write_logs(as_json: bool) -> None:
    """Send the log to stderr."""
    handler = logging.StreamHandler()
    plain = logging.Formatter("%(asctime)s %(name)s %(message)s")
    handler.setFormatter(JsonLines() if as_json else plain)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs addresses
    audit.write_by(_audit_as_json if as_json else _audit_as_text)


def _audit_as_json(lines: Sequence[audit.Line]) -> None:
    head = _head(time.time(), "info", audit.log.name)
    told = (head | {"message": audit.words_of(line)} | line for line in lines)
    _write("".join(f"{msgspec.json.encode(one).decode()}\n" for one in told))


def _audit_as_text(lines: Sequence[audit.Line]) -> None:
    now = time.time()
    clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    head = f"{clock},{int(now % 1 * 1000):03d} {audit.log.name}"  # as Python's log has it
    _write("".join(f"{head} {audit.words_of(line)}\n" for line in lines))


def _write(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads it any more: matches go on
        sys.stderr.write(text)
        sys.stderr.flush()


def _head(seconds: float, level: str, logger: str) -> dict[str, Any]:
    when = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return {"time": when, "level": level, "logger": logger}
