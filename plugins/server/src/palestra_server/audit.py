"""The audit log: a line for each match opened, seat taken, answer and refusal, without secrets."""

from __future__ import annotations

import logging
from typing import Any

from palestra_server.messages import Answer

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


def kind_of(answer: Answer) -> str:
    """What the log calls an answer."""
    kinds = {"resign": answer.resigned, "reclaim": answer.reclaimed, "rename": bool(answer.called)}
    return next((kind for kind, is_one in kinds.items() if is_one), "move")
