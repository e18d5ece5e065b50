"""Writes the journal once for all answers of a moment, and notifies followers after it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable

from palestra.kernel.errors import PalestraError, cause

from palestra_server.audit import write_kept
from palestra_server.live import Live
from palestra_server.metrics import Metrics
from palestra_server.store import MatchStore, OwnershipLost

log = logging.getLogger("palestra.server")


class Journal:
    """Nobody is notified of an answer that could still be lost.

    lost: called with the names of matches that another server has taken over.
    """

    def __init__(
        self, store: MatchStore, metrics: Metrics, lost: Callable[[Iterable[str]], None]
    ) -> None:
        self._store, self._metrics, self._lost = store, metrics, lost
        self._changed: set[Live] = set()
        self._waiting: set[Callable[[], None]] = set()
        self._flushed: asyncio.Future[None] | None = None

    def changed(self, live: Live | None = None) -> None:
        """Write the journal soon, then notify the followers of a match."""
        if live is not None:
            self._changed.add(live)
        if self._flushed is None or self._flushed.done():
            loop = asyncio.get_running_loop()
            self._flushed = loop.create_future()
            loop.call_soon(self._flush, self._flushed)

    def unwritten(self, live: Live, then: Callable[[], None] | None = None) -> bool:
        """Whether a match has answers that could still be lost; if so, `then` is called after."""
        if live not in self._changed:
            return False
        if then is not None:
            self._waiting.add(then)
        return True

    async def committed(self) -> None:
        """Return when everything up to now is written; raises what kept it from being written."""
        if self._store.pending or self._changed:
            self.changed()
            assert self._flushed is not None
            await asyncio.shield(self._flushed)

    def _flush(self, flushed: asyncio.Future[None]) -> None:
        overtaken: OwnershipLost | None = None
        started = time.perf_counter()
        try:
            self._store.flush()
            self._metrics.wrote(time.perf_counter() - started)
            write_kept()
        except OwnershipLost as error:
            overtaken = error
            self._lost(error.matches)
        except Exception as error:  # also of the audit log: a disk that is full
            log.error("%s", error, exc_info=not isinstance(error, PalestraError))
            _fail(flushed, error)
            asyncio.get_running_loop().call_later(1.0, self.changed)
            return
        changed, self._changed = self._changed, set()
        if overtaken is None:
            flushed.set_result(None)
        else:
            _fail(flushed, overtaken)
        for live in changed:
            if not live.match.lost:  # its followers have been notified
                _notify(live)
        waiting, self._waiting = self._waiting, set()
        for then in waiting:
            then()


def _notify(live: Live) -> None:
    """Call who follows a match; a fault of its rules keeps no other match's followers waiting."""
    try:
        live.notify()
    except Exception as error:
        log.exception("match=%s notifies nobody: %s", live.match.name, cause(error))


def _fail(flushed: asyncio.Future[None], error: Exception) -> None:
    flushed.set_exception(error)
    flushed.exception()  # waited for or not, it is handled
