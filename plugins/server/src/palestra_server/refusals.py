"""Error messages for clients."""

from __future__ import annotations

import msgspec
from palestra.kernel.errors import PalestraError, UnknownName, cause

from palestra_server.messages import Failure
from palestra_server.refused import RequestRefused
from palestra_server.store import DamagedStore, OwnershipLost, StoreError


def refusal(error: Exception) -> tuple[Failure, int]:
    """What a client hears of an error, and HTTP's number for it."""
    if isinstance(error, RequestRefused):
        return Failure(str(error), "Refused"), error.status
    if isinstance(error, StoreError) and not isinstance(error, OwnershipLost):
        problem = "the database cannot be used now, as the server's log says; ask again soon"
        if isinstance(error, DamagedStore):
            problem = "the database is damaged, as the server's log says; ask its operator"
        return Failure(problem, "StoreError"), 503
    if isinstance(error, UnknownName):
        return Failure(str(error), "UnknownName"), 404
    if isinstance(error, PalestraError):
        return Failure(str(error), type(error).__name__), 400
    if isinstance(error, msgspec.DecodeError | RecursionError | UnicodeDecodeError):
        return Failure(f"the message cannot be read: {cause(error)}", "Unreadable"), 400
    return Failure("the server failed; its log says why", "Error"), 500
