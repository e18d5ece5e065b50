"""A request that is not allowed."""

from __future__ import annotations

from palestra.kernel.errors import PalestraError


class RequestRefused(PalestraError):
    """A request that is not allowed; `status` is the HTTP status."""

    def __init__(self, message: str, status: int = 403) -> None:
        super().__init__(message)
        self.status = status
