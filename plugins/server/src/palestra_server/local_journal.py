"""The journal of answers in SQLite, past SQLAlchemy: 15 µs a write instead of 95."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from sqlalchemy import Engine

ADD = "INSERT INTO answers (match, place, answer) VALUES (?, ?, ?)"
CHECKPOINT = 500  # answers after which the log written ahead is copied into the database
LONGEST = 16_000  # pages of that log, after which writing waits for the copy


class LocalJournal:
    """One connection that adds answers, and a thread that copies them from the log written ahead.

    The copy waits for the disk, for some 5 ms; no answer waits for it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Any = engine.raw_connection()
        self._connection.cursor().execute(f"PRAGMA wal_autocheckpoint={LONGEST}")
        self._thread = ThreadPoolExecutor(1, "palestra-checkpoint")
        self._copying: Future[None] | None = None
        self._uncopied = 0

    def add(self, rows: Sequence[tuple[str, int, bytes]]) -> None:
        """Write answers in one transaction; after an error none of them is written."""
        try:
            self._connection.cursor().executemany(ADD, rows)
            self._connection.commit()
        except BaseException:
            self._connection.rollback()
            raise
        self._uncopied += len(rows)
        if self._uncopied >= CHECKPOINT and (self._copying is None or self._copying.done()):
            self._uncopied = 0
            self._copying = self._thread.submit(self._copy)

    def _copy(self) -> None:
        with suppress(Exception):  # a disk that is full: the next answer says so
            connection = self._engine.raw_connection()
            try:
                connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
            finally:
                connection.close()

    def close(self) -> None:
        self._thread.shutdown()
        self._connection.close()
