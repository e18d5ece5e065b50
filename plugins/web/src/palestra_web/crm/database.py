"""The organisation's rows in a read-only SQLite database.

SQLite enforces this: an authorizer refuses every statement that is not a SELECT, and a progress
handler counts virtual-machine instructions and stops a query that runs too long. Functions that
depend on the clock or on chance are refused, so that the same query always returns the same rows;
the clock only stops queries with few but very slow instructions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import lru_cache, partial
from math import inf
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple
from weakref import finalize

from palestra_web.crm.organisation import TODAY, organisation
from palestra_web.crm.schema import OBJECTS, REFERS, ddl

MOST_ROWS = 100  # in the result of a query
MOST_STEPS = 5_000_000  # instructions of SQLite's virtual machine: a fraction of a second
MOST_SECONDS = 20  # seconds that a query may take
EVERY = 10_000  # instructions between two checks of these limits
LONGEST = 50_000  # bytes of a value, and of a query
SHOWN = 2000  # characters of a value in a result
CLOCKS = ("date", "time", "datetime", "julianday", "strftime", "unixepoch")
DENIED = frozenset(
    (
        *("random", "randomblob", "current_date", "current_time", "current_timestamp"),
        *("load_extension", "printf", "format", "zeroblob"),  # these can build texts of any length
    )
)
ALLOWED = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE))


class QueryResult(NamedTuple):
    """What a query returned: columns and at most `MOST_ROWS` rows, as text; or an error."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    more: bool = False  # whether there are more rows
    error: str = ""


class Database:
    """A read-only connection; threads take turns using it.

    `ask` runs a player's query within the limits; `every` runs one of the site's own without.
    """

    def __init__(self, seed: int, cases: int) -> None:
        self._lock = Lock()
        self._left, self._until = inf, inf
        made = organisation(seed, cases)
        self._connection = self._connect()
        self._connection.executescript(ddl())
        for name, columns in OBJECTS.items():
            marks = ", ".join("?" * len(columns))
            self._connection.executemany(f"INSERT INTO {name} VALUES ({marks})", made.rows[name])
            for column in columns:
                if column in REFERS:
                    self._connection.execute(f"CREATE INDEX {name}_{column} ON {name}({column})")
        self._connection.execute("ANALYZE")
        self._connection.commit()
        self._seal()
        self.ask: Callable[[str], QueryResult] = lru_cache(256)(self._ask)
        self.every: Callable[[str], tuple[tuple[Any, ...], ...]] = lru_cache(4096)(self._every)

    def _connect(self) -> sqlite3.Connection:
        """An empty database that is closed when this object is gone."""
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        finalize(self, connection.close)
        return connection

    def _seal(self) -> None:
        connection, clock = self._connection, self._connect()
        for name in CLOCKS:
            connection.create_function(
                name, -1, partial(_date_function, clock, name), deterministic=True
            )
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.execute("PRAGMA query_only = ON")
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(self._count, EVERY)

    def _count(self) -> bool:
        self._left -= EVERY
        return self._left < 0 or monotonic() > self._until

    def _ask(self, sql: str) -> QueryResult:
        with self._lock:
            self._left, self._until = MOST_STEPS, monotonic() + MOST_SECONDS
            try:
                cursor = self._connection.execute(sql)
                found = cursor.fetchmany(MOST_ROWS + 1)
            except (sqlite3.Error, sqlite3.Warning) as error:
                return QueryResult(error=self._why(error))
        if cursor.description is None:
            return QueryResult(error="there is no query")
        columns = tuple([str(column[0]) for column in cursor.description])
        cursor.close()
        rows = [tuple([_cell_text(value) for value in row]) for row in found[:MOST_ROWS]]
        return QueryResult(columns, tuple(rows), len(found) > MOST_ROWS)

    def _every(self, sql: str) -> tuple[tuple[Any, ...], ...]:
        """All rows of a query that the site itself has written."""
        with self._lock:
            self._left, self._until = inf, inf
            return tuple(self._connection.execute(sql).fetchall())

    def _why(self, error: Exception) -> str:
        if self._left < 0:
            return f"the query was stopped after {MOST_STEPS} steps"
        if "interrupted" in str(error):
            return f"the query was stopped after {MOST_SECONDS} seconds"
        if "not authorized" in str(error) or "prohibited" in str(error):
            return f"{error}: the records can be read with SELECT and not be changed"
        return str(error)


def _authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
    if action in ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        name = (second or "").lower()
        if name not in DENIED and not name.startswith("sqlite_"):
            return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _date_function(clock: sqlite3.Connection, name: str, *values: Any) -> Any:
    """A SQLite date function for which "now" is the organisation's current date."""
    at = 1 if name == "strftime" else 0
    words = [str(value).strip().lower() if isinstance(value, str) else value for value in values]
    if "localtime" in words or "utc" in words:
        raise ValueError("times have no zone")
    given = list(values)
    if len(given) == at:
        given.append("now")
    if len(given) > at and isinstance(given[at], str) and given[at].strip().lower() == "now":
        given[at] = TODAY.isoformat()
    marks = ", ".join("?" * len(given))
    return clock.execute(f"SELECT {name}({marks})", given).fetchone()[0]


def _cell_text(value: Any) -> str:
    if value is None:
        return "NULL"
    return (value.hex() if isinstance(value, bytes) else str(value))[:SHOWN]


@lru_cache(4)
def database(seed: int, cases: int) -> Database:
    """The database of a seed's organisation."""
    return Database(seed, cases)


def sql_text(text: str) -> str:
    """A text as a string literal of SQL."""
    return "'" + text.replace("'", "''") + "'"
