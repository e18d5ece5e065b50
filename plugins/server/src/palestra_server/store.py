"""Where matches are kept: plans, seats and answers, in SQLite or any database SQLAlchemy opens."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import msgspec
from palestra.kernel.errors import PalestraError
from sqlalchemy import (
    Column,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    create_engine,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.exc import SQLAlchemyError

from palestra_server.messages import Answer, MatchPlan

TABLES = MetaData()
MATCHES = Table(
    "matches",
    TABLES,
    Column("name", String(32), primary_key=True),
    Column("plan", LargeBinary, nullable=False),
    Column("invite", LargeBinary, nullable=False),  # hash of what opens its free seats
    Column("status", String(8), nullable=False, index=True),
    Column("record", LargeBinary),
)
SEATS = Table(
    "seats",
    TABLES,
    Column("token", LargeBinary, primary_key=True),  # a hash
    Column("match", String(32), nullable=False, index=True),
    Column("seat", Integer, nullable=False),
    Column("name", String(200), nullable=False),
    UniqueConstraint("match", "seat"),
)
ANSWERS = Table(
    "answers",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("match", String(32), nullable=False, index=True),
    Column("seat", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("answer", LargeBinary, nullable=False),
    UniqueConstraint("match", "seat", "number"),
)


class StoreError(PalestraError):
    """The database cannot be read or written; the message says what to do."""


class Kept(NamedTuple):
    """A match as the database has it."""

    plan: MatchPlan
    invite: bytes
    status: str
    seats: dict[int, str]
    answers: list[Answer]
    record: bytes | None


def digest(secret: str) -> bytes:
    """The hash of a token that is stored, so that the database does not give access to seats."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


class MatchStore:
    """Plans, seats and answers by match; `url` is an SQLAlchemy URL: `sqlite:///matches.db`.

    `flush` writes everything passed to `add` in one transaction; a crash after it loses nothing.
    Raises `StoreError`.
    """

    def __init__(self, url: str) -> None:
        self.url, self._pending = url, list[dict[str, Any]]()
        self.is_local = url.startswith("sqlite")
        try:
            self._engine = create_engine(url)
            if self.is_local:
                event.listen(self._engine, "connect", _write_ahead)
            TABLES.create_all(self._engine)
        except (SQLAlchemyError, ImportError) as error:
            raise StoreError(f"cannot open the database {url}: {error}") from error

    def close(self) -> None:
        self.flush()
        self._engine.dispose()

    def create(self, name: str, plan: MatchPlan, invite: bytes) -> None:
        row = {"name": name, "plan": msgspec.json.encode(plan), "invite": invite, "status": "open"}
        self._write(insert(MATCHES).values(**row))

    def sit(self, match: str, seat: int, name: str, token: bytes) -> None:
        row = {"token": token, "match": match, "seat": seat, "name": name}
        self._write(insert(SEATS).values(**row))

    def add(self, match: str, answer: Answer) -> None:
        self._pending.append(
            {
                "match": match,
                "seat": answer.seat,
                "number": answer.number,
                "answer": msgspec.json.encode(answer),
            }
        )

    @property
    def pending(self) -> bool:
        return bool(self._pending)

    def flush(self) -> None:
        """Write all answers that were added."""
        rows = self._pending
        if rows:
            self._pending = []
            try:
                self._write(insert(ANSWERS), rows)
            except StoreError:
                self._pending = rows + self._pending
                raise

    def finish(self, match: str, status: str, record: bytes) -> None:
        chosen = update(MATCHES).where(MATCHES.c.name == match)
        self._write(chosen.values(status=status, record=record))

    def load(self, match: str) -> Kept | None:
        """A match with its answers in the order they were taken; None if there is none."""
        rows = self._read(select(MATCHES).where(MATCHES.c.name == match))
        if not rows:
            return None
        seats = self._read(select(SEATS).where(SEATS.c.match == match))
        answers = self._read(
            select(ANSWERS.c.answer).where(ANSWERS.c.match == match).order_by(ANSWERS.c.id)
        )
        return Kept(
            plan=msgspec.json.decode(rows[0].plan, type=MatchPlan),
            invite=rows[0].invite,
            status=rows[0].status,
            seats={row.seat: row.name for row in seats},
            answers=[msgspec.json.decode(row.answer, type=Answer) for row in answers],
            record=rows[0].record,
        )

    def seat_of(self, token: bytes) -> tuple[str, int] | None:
        """The match and seat that a token's hash opens."""
        rows = self._read(select(SEATS.c.match, SEATS.c.seat).where(SEATS.c.token == token))
        return (rows[0].match, rows[0].seat) if rows else None

    def unfinished(self) -> list[str]:
        rows = self._read(select(MATCHES.c.name).where(MATCHES.c.status == "open"))
        return [row.name for row in rows]

    def _read(self, query: Any) -> list[Any]:
        try:
            with self._engine.connect() as connection:
                return list(connection.execute(query))
        except SQLAlchemyError as error:
            raise StoreError(f"cannot read the database {self.url}: {error}") from error

    def _write(self, statement: Any, rows: list[dict[str, Any]] | None = None) -> None:
        try:
            with self._engine.begin() as connection:
                connection.execute(statement, rows)
        except SQLAlchemyError as error:
            raise StoreError(
                f"cannot write the database {self.url}: {error}; no move is taken until it can be"
            ) from error


def _write_ahead(connection: Any, _: Any) -> None:
    """Let readers read while one writes; a commit survives the process, if not the machine."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA busy_timeout=5000")
