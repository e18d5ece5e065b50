"""The audit log: a line for each match opened, seat taken, answer and refusal, without secrets."""

from __future__ import annotations

import logging
from typing import Any

log = logging.getLogger("palestra.server.audit")


def note(event: str, match: str = "", seat: int | None = None, **more: Any) -> None:
    """Write a line; its fields are in a JSON log by name."""
    if not log.isEnabledFor(logging.INFO):
        return
    fields: dict[str, Any] = {"event": event}
    if match:
        fields["match"] = match
    if seat is not None:
        fields["seat"] = seat
    fields |= more
    words = " ".join(f"{name}={value!r}" for name, value in fields.items() if name != "event")
    log.info("%s %s", event, words, extra=fields)
