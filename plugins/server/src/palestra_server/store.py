"""Where matches are kept: plans, seats and answers, in SQLite or any database SQLAlchemy opens."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import msgspec
from palestra.kernel.errors import InvalidOption, PalestraError
from sqlalchemy import (
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    bindparam,
    create_engine,
    delete,
    event,
    func,
    insert,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.exc import DatabaseError, IntegrityError, SQLAlchemyError

from palestra_server.local_journal import LocalJournal
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
    Column("owner", String(32), nullable=False, default=""),  # the server that plays it
    Column("next", String(32), nullable=False, default=""),  # the match that followed it
    Column("changed", Integer, nullable=False, server_default="0"),  # created or over; Unix seconds
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
# Two servers that both believe they play a match cannot both write an answer at one place.
ANSWERS = Table(
    "answers",
    TABLES,
    Column("match", String(32), primary_key=True),
    Column("place", Integer, primary_key=True, autoincrement=False),  # in order, from 0
    Column("answer", LargeBinary, nullable=False),
    sqlite_with_rowid=False,  # one page of the file changes with a move
)
SERVERS = Table(
    "servers",
    TABLES,
    Column("name", String(32), primary_key=True),
    Column("address", String(200), nullable=False),
    Column("beat", Integer, nullable=False),  # rises while the server lives
)


DAMAGED = "restore a copy, without the -wal file of the damaged one, or use another --store"
HINTS = {  # by what SQLite says
    "full": "free some room",
    "locked": "another program holds it; wait for it, or use another --store",
    "readonly": "use a --store in a folder that can be written",
    "unable to open": "use a --store in a folder that can be written",
    "disk I/O": "see that the disk is there and has room",
}
Kind = TypeVar("Kind", MatchPlan, Answer)


class StoreError(PalestraError):
    """The database cannot be read or written; the message says what to do."""


class DamagedStore(StoreError):
    """What is in the database is not what was written; other parts of it may be whole."""


class DuplicateWrite(StoreError):
    """Another server has written what may stand there only once."""


class OwnershipLost(StoreError):
    """Another server has gone on with these matches; what it wrote holds."""

    def __init__(self, matches: list[str]) -> None:
        super().__init__(f"another server goes on with {', '.join(matches)}; ask again")
        self.matches = matches


def seal(said: MatchPlan | Answer, where: str) -> bytes:
    """A struct as JSON, followed by a checksum of it and of where it stands."""
    written = msgspec.json.encode(said)
    return b"%b%08x" % (written, zlib.crc32(written, zlib.crc32(where.encode())))


def unseal(kind: type[Kind], kept: bytes, where: str) -> Kind:
    """What `seal` wrote; raises `DamagedStore` if it was changed or stands elsewhere.

    Earlier versions wrote no checksum.
    """
    sealed = not kept.endswith(b"}")
    read = msgspec.json.decode(kept[:-8] if sealed else kept, type=kind)
    if sealed and int(kept[-8:], 16) != zlib.crc32(kept[:-8], zlib.crc32(where.encode())):
        raise DamagedStore(f"the {kind.__name__} of {where} is not what was written; {DAMAGED}")
    return read


def _stood_at(where: str, kept: bytes) -> bool:
    """Whether `seal` wrote an answer for this place."""
    try:
        return not kept.endswith(b"}") and bool(unseal(Answer, kept, where))
    except (DamagedStore, msgspec.DecodeError, ValueError):
        return False


class Row(NamedTuple):
    """An answer as the journal has it."""

    match: str
    place: int
    answer: bytes


class Kept(NamedTuple):
    """A match as the database has it."""

    plan: MatchPlan
    invite: bytes
    status: str
    seats: dict[int, str]
    answers: list[Answer]
    record: bytes | None
    next: str


def digest(secret: str) -> bytes:
    """The hash of a token that is stored, so that the database does not give access to seats."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def seat_token(match: str, key: str) -> str:
    """The token of a seat that is taken under a client's key, or a random one without a key.

    Raises `InvalidOption` for a key that can be guessed.
    """
    if not key:
        return secrets.token_urlsafe(16)
    if not 16 <= len(key) <= 200:
        raise InvalidOption(f"key is a secret of 16 to 200 characters, not of {len(key)}")
    return digest(f"seat of {match} {key}").hex()[:32]


def watch_word(invite: bytes) -> str:
    """What lets people watch a match, from its invite's hash; it does not give the invite away."""
    return digest(f"watch {invite.hex()}").hex()[:32]


class MatchStore:
    """Plans, seats and answers by match; `url` is an SQLAlchemy URL: `sqlite:///matches.db`.

    `flush` writes everything passed to `add` in one transaction, and then what was passed to
    `finish`; a crash after it loses nothing.
    Raises `StoreError`.
    """

    def __init__(self, url: str) -> None:
        self.url, self._pending = _shown(url), list[Row]()
        self._ends: dict[str, dict[str, Any]] = {}  # of matches, that wait to be written
        self._cut: set[str] = set()  # matches whose next answer stands under another name
        self._journal: LocalJournal | None = None
        self.is_local = url.startswith("sqlite")
        try:
            # a connection from before the database was restarted is replaced, not used
            self._engine = create_engine(url, pool_pre_ping=not self.is_local, hide_parameters=True)
        except (SQLAlchemyError, ImportError, ValueError) as error:
            raise self._problem("open", error) from error
        try:
            self._open_tables()
        except StoreError:
            self._engine.dispose()
            raise

    def _open_tables(self) -> None:
        try:
            if self.is_local:
                event.listen(self._engine, "connect", _write_ahead)
            self._create_tables()
        except (SQLAlchemyError, ImportError, ValueError) as error:
            raise self._problem("open", error) from error

    def _create_tables(self) -> None:
        try:
            self._create_missing()
        except DatabaseError:  # another server has just created them, or it will fail again
            time.sleep(0.2)
            self._create_missing()

    def _create_missing(self) -> None:
        TABLES.create_all(self._engine)
        for table in TABLES.sorted_tables:
            columns = {column["name"] for column in inspect(self._engine).get_columns(table.name)}
            missing = {*table.columns.keys()} - columns
            if table is MATCHES and missing == {"changed"}:
                self._add_changed()
            elif missing:
                raise StoreError(
                    f"{self.url} is not a store of matches: its table {table.name} has no column "
                    f"{min(missing)}; use another --store"
                )
        with self._engine.begin() as connection:  # raises where nothing can be written
            connection.execute(delete(SERVERS).where(SERVERS.c.name == ""))

    def _add_changed(self) -> None:
        """Bring a database of an earlier version up to date."""
        added = text("ALTER TABLE matches ADD COLUMN changed INTEGER NOT NULL DEFAULT 0")
        with self._engine.begin() as connection:
            connection.execute(added)
            connection.execute(update(MATCHES).values(changed=int(time.time())))

    def check(self) -> None:
        """Raise `DamagedStore` for a file of SQLite that is not whole; takes 5 s a GB.

        Answers at the end of a match that a damaged page held are missed by nothing else. `load`
        then refuses matches whose last answers stand under a name that no match has.
        """
        if self.is_local:
            self._check_names()
        if self.is_local and (found := self._read(text("PRAGMA quick_check(1)"))[0][0]) != "ok":
            said = found.rpartition("\n")[2]
            raise DamagedStore(f"the database {self.url} is damaged: {said}; {DAMAGED}")

    def _check_names(self) -> None:
        known = select(MATCHES.c.name)
        strays = self._read(select(ANSWERS.c.answer).where(ANSWERS.c.match.not_in(known)))
        count = select(func.count()).where(ANSWERS.c.match == MATCHES.c.name).scalar_subquery()
        for match, place in self._read(select(MATCHES.c.name, count)) if strays else ():
            if any(_stood_at(f"{match} {place}", row.answer) for row in strays):
                self._cut.add(match)

    def close(self) -> None:
        """Write what waits, and close journal and database."""
        self.flush()
        if self._journal is not None:
            self._journal.close()
        self._engine.dispose()

    def create(self, name: str, plan: MatchPlan, invite: bytes, owner: str = "") -> None:
        """Add an open match.

        name: of the match. plan: what is played by whom. invite: the hash of the key that lets
        players sit down. owner: who opened it.
        """
        self._write(
            insert(MATCHES).values(
                name=name,
                plan=seal(plan, f"{name} {invite.hex()}"),
                invite=invite,
                status="open",
                owner=owner,
                next="",
                changed=int(time.time()),
            )
        )

    def sit(self, match: str, seat: int, name: str, token: bytes) -> None:
        """Give a seat of a match to the player with this name and the hash of this token."""
        row = {"token": token, "match": match, "seat": seat, "name": name}
        self._write(insert(SEATS).values(**row))

    def hand_over(self, match: str, seat: int, token: bytes) -> None:
        """Give a seat another token, which replaces the old one."""
        chosen = update(SEATS).where((SEATS.c.match == match) & (SEATS.c.seat == seat))
        self._write(chosen.values(token=token))

    def add(self, match: str, place: int, answer: Answer) -> None:
        """Keep the answer at a place of its match's journal, counted from 0, for `flush`."""
        self._pending.append(Row(match, place, seal(answer, f"{match} {place}")))

    @property
    def pending(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._pending or self._ends)

    def flush(self) -> None:
        """Write all added answers, then how matches ended; what is not written waits on.

        Raises `OwnershipLost` for the matches of others.
        """
        rows = self._pending
        try:
            if rows:
                self._append(rows)
        except OwnershipLost as error:
            self._pending = []
            for match in error.matches:
                self._ends.pop(match, None)
            self._write_ends()
            raise
        self._pending = []
        self._write_ends()

    def _write_ends(self) -> None:
        """Write how matches ended, in one transaction: 80 of them took 40 ms with one each."""
        if self._ends:
            ended = update(MATCHES).where(MATCHES.c.name == bindparam("match"))
            self._write(ended, [{"match": name, **end} for name, end in self._ends.items()])
            self._ends.clear()

    def _append(self, rows: list[Row]) -> None:
        try:
            self._insert(rows)
        except DuplicateWrite:
            lost = {row.match for row in rows if not self._is_free(row)}
            if rest := [row for row in rows if row.match not in lost]:
                self._insert(rest)
            raise OwnershipLost(sorted(lost)) from None

    def _is_free(self, row: Row) -> bool:
        place = select(ANSWERS.c.place).where(ANSWERS.c.match == row.match)
        return not self._read(place.where(ANSWERS.c.place == row.place))

    def _insert(self, rows: list[Row]) -> None:
        if not self.is_local:
            self._write(
                insert(ANSWERS),
                [{"match": row.match, "place": row.place, "answer": row.answer} for row in rows],
            )
            return
        try:
            if self._journal is None:
                self._journal = LocalJournal(self._engine)
            self._journal.add(rows)
        except sqlite3.IntegrityError as error:
            raise DuplicateWrite(str(error)) from error
        except (sqlite3.Error, SQLAlchemyError) as error:
            raise self._problem("write", error) from error

    def finish(self, match: str, status: str, record: bytes) -> None:
        """Keep how a match ended, with its record, for `flush`."""
        self._ends[match] = {"status": status, "record": record, "changed": int(time.time())}

    def prune(
        self, before: float, kept: Collection[str] = (), *, owner: str = "", most: int = 50
    ) -> int:
        """Delete matches that were over by a time, or the owner's that had not begun.

        before: in seconds since the epoch. kept: names that stay. most: at once. Returns how many
        are deleted.
        """
        begun = select(ANSWERS.c.match).where(ANSWERS.c.match == MATCHES.c.name).exists()
        idle = (MATCHES.c.status != "open") | ((MATCHES.c.owner == owner) & ~begun)
        old = select(MATCHES.c.name).where((MATCHES.c.changed < before) & idle)
        rows = self._read(old.limit(most + len(kept)))
        names = [row.name for row in rows if row.name not in kept][:most]
        if names:
            with self._writing() as connection:
                for column in (ANSWERS.c.match, SEATS.c.match, MATCHES.c.name):
                    connection.execute(delete(column.table).where(column.in_(names)))
        return len(names)

    def load(self, match: str) -> Kept | None:
        """A match with its answers in the order they were taken; None if there is none.

        Raises `DamagedStore` where answers are missing, or are not those that were written.
        """
        rows = self._read(select(MATCHES).where(MATCHES.c.name == match))
        if not rows:
            return None
        seats = self._read(select(SEATS).where(SEATS.c.match == match))
        answers = self._read(
            select(ANSWERS.c.place, ANSWERS.c.answer)
            .where(ANSWERS.c.match == match)
            .order_by(ANSWERS.c.place)
        )
        gaps = [place for place, row in enumerate(answers) if row.place != place]
        if gaps or match in self._cut:
            place = gaps[0] if gaps else len(answers)
            raise DamagedStore(f"answer {place} of match {match} is missing; {DAMAGED}")
        invite = rows[0].invite
        return Kept(
            plan=unseal(MatchPlan, rows[0].plan, f"{match} {invite.hex()}"),
            invite=invite,
            status=rows[0].status,
            seats={row.seat: row.name for row in seats},
            answers=[unseal(Answer, row.answer, f"{match} {row.place}") for row in answers],
            record=rows[0].record,
            next=rows[0].next,
        )

    def seat_of(self, token: bytes) -> tuple[str, int] | None:
        """The match and seat that a token's hash opens."""
        rows = self._read(select(SEATS.c.match, SEATS.c.seat).where(SEATS.c.token == token))
        return (rows[0].match, rows[0].seat) if rows else None

    def unfinished(self, owner: str | None = None) -> list[str]:
        """Matches that are not over; with a name, only those that this server plays."""
        query = select(MATCHES.c.name).where(MATCHES.c.status == "open")
        if owner is not None:
            query = query.where(MATCHES.c.owner == owner)
        return [row.name for row in self._read(query)]

    def follow_up(self, match: str, following: str) -> None:
        """Note which match followed one that is over."""
        self._write(update(MATCHES).where(MATCHES.c.name == match).values(next=following))

    # Several servers on one database

    def owner(self, match: str) -> str | None:
        """The server that plays a match; None if there is no such match."""
        rows = self._read(select(MATCHES.c.owner).where(MATCHES.c.name == match))
        return rows[0].owner if rows else None

    def owned_open(self) -> list[tuple[str, str]]:
        """Matches that are not over, each with the server that plays it."""
        query = select(MATCHES.c.name, MATCHES.c.owner).where(MATCHES.c.status == "open")
        return [(row.name, row.owner) for row in self._read(query)]

    def claim(self, match: str, before: str, owner: str) -> bool:
        """Take a match over from the server that had it; False if another was faster."""
        held = (MATCHES.c.name == match) & (MATCHES.c.owner == before)
        return self._write(update(MATCHES).where(held).values(owner=owner)) == 1

    def beat(self, name: str, address: str, count: int) -> None:
        """Say that a server lives."""
        values = {"address": address, "beat": count}
        if not self._write(update(SERVERS).where(SERVERS.c.name == name).values(**values)):
            self._write(insert(SERVERS).values(name=name, **values))

    def servers(self) -> dict[str, tuple[str, int]]:
        """Every server's address and how far its beat has come."""
        return {row.name: (row.address, row.beat) for row in self._read(select(SERVERS))}

    def leave(self, name: str) -> None:
        """Forget a server."""
        self._write(delete(SERVERS).where(SERVERS.c.name == name))

    def _read(self, query: Any) -> list[Any]:
        try:
            with self._engine.connect() as connection:
                return list(connection.execute(query))
        except SQLAlchemyError as error:
            raise self._problem("read", error) from error

    def _write(self, statement: Any, rows: list[dict[str, Any]] | None = None) -> int:
        """Run one statement in a transaction; returns how many rows it changed."""
        with self._writing() as connection:
            return int(connection.execute(statement, rows).rowcount)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A transaction."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except IntegrityError as error:
            raise DuplicateWrite(f"it is in the database already: {error}") from error
        except SQLAlchemyError as error:
            raise self._problem("write", error) from error

    def _problem(self, what: str, error: Exception) -> StoreError:
        """What is said of an error of the database, in one line that says what to do."""
        said = str(getattr(error, "orig", None) or error).partition("\n")[0]
        damaged = any(sign in said for sign in ("malformed", "not a database", "decode"))
        hint = DAMAGED if damaged else next((HINTS[sign] for sign in HINTS if sign in said), "")
        until = "no move is taken until it can be" if what == "write" else ""
        told = "; ".join(part for part in (said, hint, until) if part)
        kind = DamagedStore if damaged else StoreError
        return kind(f"cannot {what} the database {self.url}: {told}")


def _shown(url: str) -> str:
    """A database's URL without its password."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (SQLAlchemyError, ValueError):
        return f"{url.partition('://')[0]}://…"


def _write_ahead(connection: Any, _: Any) -> None:
    """Let readers read while one writes; a commit survives the process, if not the machine."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA busy_timeout=5000")
