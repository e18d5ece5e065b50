"""The server's log: lines for people, or one JSON object a line for programs."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

import msgspec

FIELDS = ("match", "seat", "env", "event", "reason", "peer")  # that a record may carry


class JsonLines(logging.Formatter):
    """A record as a JSON object: time, level, logger, message, and what it is about."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
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
