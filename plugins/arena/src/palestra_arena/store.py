"""Results in one SQLite file: append-only, safe against a crash, and the key to resuming.

A game is written in one transaction as soon as it is over, in write-ahead mode: a process that is
killed loses the games it was playing and no others. Triggers refuse to change or remove a game.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import msgspec
from palestra import EpisodeRecord, InvalidOption, PalestraError, Usage
from palestra.kernel.errors import cause, show
from palestra.records.versions import check_versions

from palestra_arena.match import Match
from palestra_arena.result import GameResult
from palestra_arena.settings import Environment, Settings, check_continues, settings_from
from palestra_arena.tally import (
    Block,
    CountedGame,
    Kind,
    Spent,
    Tally,
    add_spent,
    by_block,
    labels_of,
    spent_in,
)

APPLICATION = 0x50414C41  # "PALA" in the file's header
VERSION = 5  # 2 counts games in tables of their own, 3 answers, 4 keeps versions, 5 finds errors

SCHEMA = """
CREATE TABLE settings (
    number INTEGER PRIMARY KEY,
    written TEXT NOT NULL,
    body TEXT NOT NULL,
    versions TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE environments (number INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE);
CREATE TABLE agents (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE games (
    number INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    environment INTEGER NOT NULL REFERENCES environments,
    round INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    steps INTEGER NOT NULL,
    seconds REAL NOT NULL,
    written TEXT NOT NULL
);
CREATE TABLE seats (
    game INTEGER NOT NULL REFERENCES games,
    seat INTEGER NOT NULL,
    agent INTEGER NOT NULL REFERENCES agents,
    result TEXT NOT NULL,
    score REAL NOT NULL,
    rank INTEGER NOT NULL,
    points REAL NOT NULL,
    mistakes INTEGER NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    tokens_cached INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    cost REAL NOT NULL,
    seconds REAL NOT NULL,
    answers INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (game, seat)
) WITHOUT ROWID;
CREATE TABLE records (game INTEGER PRIMARY KEY REFERENCES games, body BLOB NOT NULL);
"""
ANSWERS = "ALTER TABLE seats ADD COLUMN answers INTEGER NOT NULL DEFAULT 0"
VERSIONS = "ALTER TABLE settings ADD COLUMN versions TEXT NOT NULL DEFAULT '{}'"
TALLIES = """
CREATE TABLE kinds (number INTEGER PRIMARY KEY, body TEXT NOT NULL UNIQUE, times INTEGER NOT NULL);
CREATE TABLE blocks (key BLOB PRIMARY KEY, kind INTEGER NOT NULL REFERENCES kinds) WITHOUT ROWID;
CREATE INDEX blocks_by_kind ON blocks (kind);  -- for the foreign key where kinds die
CREATE TABLE tallied (number INTEGER PRIMARY KEY, game INTEGER NOT NULL, body TEXT NOT NULL);
"""
FAILED = "CREATE INDEX IF NOT EXISTS failed ON games (key) WHERE status = 'error'"
UPGRADES = (TALLIES, ANSWERS, VERSIONS, FAILED)  # from version 1, 2, 3, 4
APPENDING = tuple(
    f"CREATE TRIGGER {table}_{verb} BEFORE {verb} ON {table}\n"
    "BEGIN SELECT RAISE(ABORT, 'a store is append-only'); END"
    for table in ("settings", "games", "seats", "records")
    for verb in ("UPDATE", "DELETE")
)
NAMED = {  # what a store holds, besides the triggers
    "table": (
        *("settings", "environments", "agents", "games", "seats", "records"),
        *("kinds", "blocks", "tallied", "sqlite_stat1", "sqlite_stat4"),
    ),
    "index": ("blocks_by_kind", "failed"),
}
GAMES = """
SELECT games.number, environment, round, seed, status, reason, steps, games.seconds,
       name, result, score, rank, points, mistakes,
       tokens_in, tokens_out, tokens_cached, calls, cost, seats.seconds, answers
FROM games JOIN seats ON seats.game = games.number JOIN agents ON agents.number = seats.agent
WHERE games.number > ? AND games.number <= ?
ORDER BY games.number, seat
"""
# The attempts to play a match. A game's key is its match's, of 16 bytes; further bytes number the
# attempts after those that ended in an error.
ATTEMPTS = "SELECT key, status FROM games WHERE key >= ? AND key < ?"
# Kinds of blocks that are counted more or less often than they occur
MISCOUNTED = """
SELECT count(*) FROM kinds WHERE times != (SELECT count(*) FROM blocks WHERE kind = kinds.number)
"""


LAST = 2**63 - 1
LONGEST_RECORD = 1 << 30  # bytes
CHUNK = 20_000  # games counted in one transaction


class Spending(msgspec.Struct, array_like=True, frozen=True):
    """Stored usage of the counted games; `void` counts games by environment."""

    rows: list[tuple[str, str, int, Usage]] = []
    void: dict[str, int] = {}
    errors: dict[str, int] = {}  # of older stores; not read
    answers: list[int] = []  # by row; absent in stores written before answers were counted


DAMAGED = "restore a copy, or play into another file"
HINTS = {  # by what SQLite says
    "full": "free some space and run the same command again to resume",
    "locked": "another program holds it; wait for it, or choose another file",
    "readonly": "choose a file in a folder that can be written",
    "unable to open": "choose a file in a folder that can be written",
    "malformed": DAMAGED,
    "not a database": DAMAGED,
    "disk I/O": "see that the disk is there and has room; the same command resumes",
}


class StoreError(PalestraError, OSError):
    """A store that cannot be read or written; games written before it are kept."""


class Store:
    """Open a store and create its file if missing, unless `must_exist`.

    Use it as a context manager, from one thread.
    """

    def __init__(self, path: str | Path, *, must_exist: bool = False) -> None:
        self.path = Path(path)
        if must_exist and not self.path.is_file():
            raise InvalidOption(
                f"there is no store {self.path}; palestra tournament … --store {self.path} makes it"
            )
        if not self.path.parent.is_dir():
            raise InvalidOption(f"there is no folder {self.path.parent} to keep a store in")
        with self._explain_sqlite_errors():
            self._db = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        try:
            with self._explain_sqlite_errors():
                self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        self._db.execute("PRAGMA foreign_keys = ON")
        with self._transaction():
            self._check_or_make()
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._environments = {body: n for n, body in self._rows("environments", "body")}
        self._agents = {name: n for n, name in self._rows("agents", "name")}

    def _check_or_make(self) -> None:
        application = self._value("PRAGMA application_id")
        version = self._value("PRAGMA user_version")
        if application == APPLICATION:
            self._check_schema()
        if application == APPLICATION and version == VERSION:
            return
        if application == APPLICATION and 1 <= version < VERSION:  # an older store
            self._make(";".join(UPGRADES[version - 1 :]))
            return
        if application == APPLICATION:
            raise StoreError(
                f"{self.path} is a store of version {version}, and this palestra-arena reads "
                f"version {VERSION}; use the release that wrote it, or start a new file"
            )
        if self._value("SELECT count(*) FROM sqlite_master"):
            raise StoreError(f"{self.path} is an SQLite file, but no store of Palestra")
        self._make(f"{SCHEMA}{TALLIES}{FAILED}")
        for trigger in APPENDING:
            self._db.execute(trigger)
        self._db.execute(f"PRAGMA application_id = {APPLICATION}")

    def _check_schema(self) -> None:
        """Refuse a file of others in which reading a table would run what they wrote.

        A query over a view that never ends cannot even be interrupted.
        """
        listed = "SELECT type, name, coalesce(sql, '') FROM sqlite_master"
        for kind, name, written in self._db.execute(listed).fetchall():
            automatic = kind == "index" and not written  # of a column that is unique
            plain = automatic or written in APPENDING or name in NAMED.get(kind, ())
            if kind == "table":
                plain &= written.startswith("CREATE TABLE") and not self._computes(name)
            if not plain:
                raise StoreError(
                    f"{self.path} has a {kind} {show(name)}, which no store of Palestra has; do "
                    "not use it, unless you trust who wrote it and can restore a copy"
                )

    def _computes(self, table: str) -> bool:
        """Whether a table has columns that are computed when they are read."""
        query = "SELECT count(*) FROM pragma_table_xinfo(?) WHERE hidden"
        return bool(self._db.execute(query, (table,)).fetchone()[0])

    def _make(self, tables: str) -> None:
        for statement in tables.split(";"):
            self._db.execute(statement)
        self._db.execute(f"PRAGMA user_version = {VERSION}")

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was played is on the disk."""
        self._db.close()

    # Writing

    def begin(
        self,
        settings: Settings,
        versions: Mapping[str, str] = MappingProxyType({}),
        *,
        other_versions: bool = False,
    ) -> None:
        """Record the settings of a run, and the versions of what decides its games.

        Raises `InvalidOption` for settings that contradict the stored games, and for other versions
        unless `other_versions`.
        """
        latest = self.settings()
        before = self.versions()
        if latest is not None:
            check_continues(latest, settings, self.path)
            check_versions(self.path, before, versions, accept=other_versions)
        now = {**before, **versions}
        if latest == settings and now == before:
            return
        row = _now(), msgspec.json.encode(settings).decode(), msgspec.json.encode(now).decode()
        with self._explain_sqlite_errors(), self._transaction():
            self._db.execute("INSERT INTO settings (written, body, versions) VALUES (?, ?, ?)", row)

    def add(self, result: GameResult, record: bytes | None = None) -> bool:
        """Write one game permanently; False if it was already there. `record` is JSON.

        A game that ended in an error can be written again, when it is played again.
        """
        match = result.match
        with self._explain_sqlite_errors(), self._transaction():
            done = self._db.execute(
                "INSERT INTO games (key, environment, round, seed, status, reason, steps, seconds,"
                " written) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
                (
                    self._key(match),
                    self._environment(match.environment),
                    match.round,
                    match.seed,
                    result.status,
                    result.reason,
                    result.steps,
                    result.seconds,
                    _now(),
                ),
            )
            if not done.rowcount:
                return False
            number = done.lastrowid
            self._db.executemany(
                f"INSERT INTO seats VALUES ({', '.join('?' * 15)})",
                [(number, seat, *self._seat(result, seat)) for seat in range(len(match.agents))],
            )
            if record is not None:
                body = zlib.compress(record, 1)
                self._db.execute("INSERT INTO records VALUES (?, ?)", (number, body))
        return True

    def _key(self, match: Match) -> bytes:
        """The key of the attempt that counts, or of the next one if all ended in an error."""
        attempts = self._attempts(match.key)
        for key, status in attempts:
            if status != "error":
                return bytes(key)
        return match.key + (b"%d" % len(attempts) if attempts else b"")

    def _attempts(self, key: bytes) -> list[tuple[bytes, str]]:
        """The keys and statuses of all attempts to play a match."""
        return self._db.execute(ATTEMPTS, (key, key + b"\xff")).fetchall()

    def _seat(self, result: GameResult, seat: int) -> tuple[Any, ...]:
        usage = result.usage[seat]
        return (
            self._agent(result.match.agents[seat]),
            result.results[seat],
            result.scores[seat],
            result.ranks[seat],
            result.points[seat],
            result.mistakes[seat],
            usage.tokens_in,
            usage.tokens_out,
            usage.tokens_cached,
            usage.calls,
            usage.cost,
            usage.seconds,
            result.answers[seat] if result.answers else 0,
        )

    def _environment(self, environment: Environment) -> int:
        body = msgspec.json.encode(environment, order="deterministic").decode()
        return self._number("environments", "body", body, self._environments)

    def _agent(self, name: str) -> int:
        return self._number("agents", "name", name, self._agents)

    def _number(self, table: str, column: str, value: str, known: dict[str, int]) -> int:
        """The row of a name, made if there is none; another process may have made it."""
        if value not in known:
            self._db.execute(f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)", (value,))
            found = self._db.execute(f"SELECT number FROM {table} WHERE {column} = ?", (value,))
            known[value] = found.fetchone()[0]
        return known[value]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            self._forget_names()
            raise

    def _forget_names(self) -> None:
        """Names numbered in a transaction that was rolled back have no number."""
        self._environments, self._agents = {}, {}

    @contextmanager
    def _explain_sqlite_errors(self) -> Iterator[None]:
        """Add the file's name and what to do to SQLite's errors."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            hint = next((hint for sign, hint in HINTS.items() if sign in str(error)), "")
            raise StoreError(f"{self.path}: {error}{hint and f'; {hint}'}") from error
        except PalestraError:
            raise
        except (msgspec.MsgspecError, zlib.error, LookupError, TypeError, ValueError) as error:
            what = "what is in it was changed or damaged"
            raise StoreError(f"{self.path}: {what} ({cause(error)}); {DAMAGED}") from error

    # Reading

    def settings(self) -> Settings | None:
        """The settings of the latest run."""
        with self._explain_sqlite_errors():
            query = "SELECT body FROM settings ORDER BY number DESC LIMIT 1"
            row = self._db.execute(query).fetchone()
            kept = msgspec.json.decode(row[0]) if row else None
        return settings_from(kept, str(self.path)) if kept is not None else None

    def versions(self) -> dict[str, str]:
        """The versions of the latest run, by package; empty in a store of an older release."""
        with self._explain_sqlite_errors():
            query = "SELECT versions FROM settings ORDER BY number DESC LIMIT 1"
            row = self._db.execute(query).fetchone()
            return msgspec.json.decode(row[0], type=dict[str, str]) if row else {}

    def __len__(self) -> int:
        with self._explain_sqlite_errors():
            return int(self._value("SELECT count(*) FROM games"))

    def results(self, after: int = 0, upto: int = LAST) -> Iterator[GameResult]:
        """Every game, in the order they were written, of those numbers."""
        with self._explain_sqlite_errors():
            environments = {
                number: msgspec.json.decode(body, type=Environment)
                for number, body in self._rows("environments", "body")
            }
            game: list[tuple[Any, ...]] = []
            for row in self._db.execute(GAMES, (after, upto)):
                if game and game[0][0] != row[0]:
                    yield _result(game, environments)
                    game = []
                game.append(row)
            if game:
                yield _result(game, environments)

    def find(self, matches: Iterable[Match]) -> dict[Match, GameResult]:
        """The matches among these that have been played, with their results."""
        wanted = set(matches)
        return {result.match: result for result in self.results() if result.match in wanted}

    def tally(self) -> Tally:
        """Counts over all games; games counted before are not read again.

        The counts are kept in the file, so that a leaderboard of a million games takes only as long
        as counting the new ones. Only whole chunks are kept: a process that is killed while it
        counts resumes there.
        """
        with self._explain_sqlite_errors():
            last = self._value("SELECT coalesce(max(number), 0) FROM games")
            while self._count_more(last):
                pass
            kinds = self._db.execute("SELECT body, times FROM kinds").fetchall()
            spent, void = self._spent()
            errors = self._unplayed()
            read = msgspec.json.Decoder(Kind).decode
            if self._value(MISCOUNTED):
                raise StoreError(f"{self.path}: counts differ from its games; {DAMAGED}")
            counted = Counter({read(body): times for body, times in kinds})
        return Tally(counted, spent, void, errors)

    def _count_more(self, last: int) -> bool:
        """Count the next chunk of games; returns whether there was one."""
        with self._transaction():
            row = self._db.execute("SELECT max(game) FROM tallied").fetchone()
            start = row[0] or 0
            if start >= last:
                return False
            end = min(last, start + CHUNK)
            games = list(self.results(start, end))
            counted = [game for game in games if game.counts]
            self._count_blocks(by_block(counted))
            spent, void = self._spent()
            total = add_spent(spent, spent_in(counted))
            body = Spending(
                [(*key, seats.mistakes, seats.usage) for key, seats in total.items()],
                void + labels_of(games, "void"),
                {},
                [seats.answers for seats in total.values()],
            )
            self._db.execute(
                "INSERT INTO tallied VALUES (1, ?, ?) ON CONFLICT (number) DO UPDATE SET "
                "game = excluded.game, body = excluded.body",
                (end, msgspec.json.encode(body).decode()),
            )
        return True

    def _unplayed(self) -> Counter[str]:
        """How many matches have ended in an error alone, by environment."""
        bodies = dict(self._rows("environments", "body"))
        lost = self._db.execute("SELECT key, environment FROM games WHERE status = 'error'")
        matches = {bytes(key[:16]): environment for key, environment in lost.fetchall()}
        found = Counter[str]()
        for key, environment in matches.items():
            if all(status == "error" for _, status in self._attempts(key)):
                found[msgspec.json.decode(bodies[environment], type=Environment).label] += 1
        return found

    def _spent(self) -> tuple[dict[tuple[str, str], Spent], Counter[str]]:
        """Usage of the games counted so far, and how many of them were void."""
        row = self._db.execute("SELECT body FROM tallied").fetchone()
        kept = msgspec.json.decode(row[0], type=Spending) if row else Spending()
        answers = kept.answers or [0] * len(kept.rows)
        spent = {
            (label, agent): Spent(mistakes, used, answered)
            for (label, agent, mistakes, used), answered in zip(kept.rows, answers, strict=True)
        }
        return spent, Counter(kept.void)

    def _count_blocks(self, new: Mapping[Block, list[CountedGame]]) -> None:
        """Move every block that has new games from the kind it was to the kind it is."""
        bodies = dict(self._rows("kinds", "body"))
        numbers = {body: number for number, body in bodies.items()}
        moved: Counter[int] = Counter()
        for block, games in new.items():
            key = blake2b(msgspec.json.encode(block), digest_size=16).digest()
            found = self._db.execute("SELECT kind FROM blocks WHERE key = ?", (key,)).fetchone()
            if found:
                games = [*msgspec.json.decode(bodies[found[0]], type=Kind), *games]
                moved[found[0]] -= 1
            body = msgspec.json.encode(sorted(games)).decode()
            if body not in numbers:
                made = self._db.execute("INSERT INTO kinds (body, times) VALUES (?, 0)", (body,))
                numbers[body] = int(made.lastrowid or 0)
                bodies[numbers[body]] = body
            moved[numbers[body]] += 1
            self._db.execute("INSERT OR REPLACE INTO blocks VALUES (?, ?)", (key, numbers[body]))
        self._db.executemany(
            "UPDATE kinds SET times = times + ? WHERE number = ?",
            [(times, number) for number, times in moved.items() if times],
        )
        self._db.execute("DELETE FROM kinds WHERE times = 0")

    def records(self) -> Iterator[EpisodeRecord]:
        """The full record of every game that was kept with one, in the order they were written."""
        with self._explain_sqlite_errors():
            for (body,) in self._db.execute("SELECT body FROM records ORDER BY game"):
                yield msgspec.json.decode(_unpacked(body), type=EpisodeRecord, strict=False)

    def _rows(self, table: str, column: str) -> list[tuple[int, str]]:
        return self._db.execute(f"SELECT number, {column} FROM {table}").fetchall()

    def _value(self, query: str) -> Any:
        return self._db.execute(query).fetchone()[0]


def _unpacked(body: bytes) -> bytes:
    """A record's text; of a few kilobytes others can make one that fills the memory."""
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(body, LONGEST_RECORD)
    if not unpacking.eof:
        raise zlib.error(f"a record is cut, or longer than {LONGEST_RECORD} bytes")
    return text


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _result(seats: list[tuple[Any, ...]], environments: dict[int, Environment]) -> GameResult:
    _, environment, turn, seed, status, reason, steps, seconds = seats[0][:8]
    names, results, scores, ranks, points, mistakes = zip(*(s[8:14] for s in seats), strict=True)
    return GameResult(
        match=Match(environments[environment], names, seed, turn),
        status=status,
        results=results,
        scores=scores,
        ranks=ranks,
        points=points,
        mistakes=mistakes,
        usage=tuple(Usage(*seat[14:20]) for seat in seats),
        steps=steps,
        seconds=seconds,
        reason=reason,
        answers=tuple(seat[20] for seat in seats),
    )
