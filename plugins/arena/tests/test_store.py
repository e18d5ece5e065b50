from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from palestra import InvalidOption, Usage
from palestra_arena import GameResult, Settings, Store, Swiss, run_tournament
from palestra_arena.match import Match
from palestra_arena.report import leaderboard_of, make_leaderboard
from palestra_arena.result import points_of, ranks_of
from palestra_arena.settings import (
    Adaptive,
    Environment,
    KnockOut,
    Ladder,
    Population,
    Schedule,
    additions,
)
from palestra_arena.store import StoreError
from palestra_arena.tally import tally

SETTINGS = Settings(environments=("games/TicTacToe-v0",), agents=("a", "b"))


def result(seed: int, agents: tuple[str, ...] = ("a", "b"), **more: Any) -> GameResult:
    seats = len(agents)
    fields: dict[str, Any] = {
        "status": "played",
        "results": ("win", *["loss"] * (seats - 1)),
        "scores": (1.0, *[-1.0] * (seats - 1)),
        "ranks": (0, *[1] * (seats - 1)),
        "points": points_of((0, *[1] * (seats - 1))),
        "mistakes": (0,) * seats,
        "usage": (Usage(tokens_in=5, cost=0.25),) * seats,
        "steps": 7,
        "seconds": 0.5,
        "answers": (4,) * seats,
    }
    match = Match(Environment("games/TicTacToe-v0", options={"b": 1, "a": [2]}), agents, seed)
    return GameResult(match=match, **(fields | more))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    results = [result(0), result(2**62, ("c", "a", "b")), result(1, ("solo",), reason="it’s over")]
    with Store(tmp_path / "s.db") as store:
        assert all(store.add(r, b"{}") for r in results)
    with Store(tmp_path / "s.db") as store:
        assert list(store.results()) == results
        assert len(store) == 3


def test_a_game_is_counted_once(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as one, Store(tmp_path / "s.db") as two:
        assert one.add(result(0))
        assert not two.add(result(0))
        assert two.add(result(1))
        assert one.add(result(2, ("d", "a")))
        assert len(one) == len(two) == 3
        assert list(one.results()) == list(two.results())


@pytest.mark.parametrize("table", ["games", "seats", "records", "settings"])
def test_a_store_is_append_only(table: str, tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.begin(SETTINGS)
        store.add(result(0), b"{}")
    raw = sqlite3.connect(tmp_path / "s.db")
    column = {"games": "seed", "seats": "score", "records": "body", "settings": "body"}[table]
    for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET {column} = 0"):
        with pytest.raises(sqlite3.DatabaseError, match="append-only"):
            raw.execute(statement)
    raw.close()


def test_a_store_of_another_version_says_so(tmp_path: Path) -> None:
    Store(tmp_path / "s.db").close()
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.execute("PRAGMA user_version = 99")
    raw.close()
    with pytest.raises(StoreError, match="version 99"):
        Store(tmp_path / "s.db")


def mixed_games() -> list[GameResult]:
    """Three agents in both seats on 40 seeds, a third seat at times, some void, scores unlike."""
    games = []
    for seed in range(40):
        for pair in (("a", "b"), ("b", "a"), ("c", "a"), ("a", "c", "b")):
            lost = seed % 3 == len(pair) % 2
            ranks = tuple(sorted(range(len(pair)), reverse=lost))
            more: dict[str, Any] = {"scores": tuple(0.5 * (seed % 4) - r for r in ranks)}
            if seed % 7 < 2:
                status = "error" if seed % 7 else "void"
                more = {"status": status, "results": ("",) * len(pair)}
            games.append(result(seed, pair, ranks=ranks, points=points_of(ranks), **more))
    return games


def test_counting_as_games_come_in_is_counting_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palestra_arena.store.CHUNK", 17)
    games = mixed_games()
    with Store(tmp_path / "s.db") as store:
        for number, game in enumerate(games):
            store.add(game)
            if number % 50 == 3:  # blocks are half full here
                assert store.tally() == tally(games[: number + 1])
        assert store.tally() == tally(games)
        board = leaderboard_of(store.tally())
    with Store(tmp_path / "s.db") as store:
        assert store.tally() == tally(games)  # nothing is counted twice
    again = make_leaderboard(games)
    assert board.rows == again.rows
    assert board.pairings == again.pairings
    assert (board.games, board.void) == (len(games), sum(g.status == "void" for g in games))
    assert board.errors == sum(g.status == "error" for g in games) > 0


def test_counted_games_of_one_environment() -> None:
    label = Environment("games/TicTacToe-v0", options={"b": 1, "a": [2]}).label
    other = Match(Environment("games/Othello-v0"), ("a", "b"), 3)
    games = [*mixed_games(), msgspec.structs.replace(result(3), match=other)]
    only = tally(games).only("games/TicTacToe-v0")
    assert only == tally(mixed_games())
    assert only.environments == (label,)


def test_a_store_of_the_first_version_is_given_what_it_lacks(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        for game in mixed_games():
            store.add(game)
        expected = store.tally()
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.executescript(
        "DROP TABLE blocks; DROP TABLE kinds; DROP TABLE tallied;"
        "ALTER TABLE seats DROP COLUMN answers; ALTER TABLE settings DROP COLUMN versions"
    )
    raw.execute("PRAGMA user_version = 1")
    raw.close()
    with Store(tmp_path / "s.db") as store:
        again = store.tally()
        assert again.kinds == expected.kinds
        assert {spent.answers for spent in again.spent.values()} == {0}, "they were not counted"
        assert make_leaderboard(store.results()).rows[0].refused in (0.0, None)


def test_files_that_are_no_stores_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    raw = sqlite3.connect(other)
    raw.execute("CREATE TABLE notes (text)")
    raw.commit()
    raw.close()
    text = tmp_path / "notes.txt"
    text.write_text("not a database, and longer than the header of one would be" * 20)
    for path in (other, text):
        before = path.read_bytes()
        with pytest.raises(StoreError):
            Store(path)
        assert path.read_bytes() == before


def test_a_missing_store_or_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="there is no store"):
        Store(tmp_path / "s.db", must_exist=True)
    with pytest.raises(InvalidOption, match="there is no folder"):
        Store(tmp_path / "nowhere" / "s.db")
    assert not list(tmp_path.iterdir())


def fill(store: Store) -> None:
    for seed in range(10_000):
        store.add(result(seed), bytes(str(seed) * 500, "ascii"))


def test_a_full_disk_keeps_the_games_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite is told that the file may not grow, and then says what a full disk says."""
    connect = sqlite3.connect

    def small(*arguments: Any, **more: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **more)
        connection.execute("PRAGMA max_page_count = 40")
        return connection

    monkeypatch.setattr(sqlite3, "connect", small)
    with Store(tmp_path / "s.db") as store:
        with pytest.raises(StoreError, match="free some space"):
            fill(store)
        kept = len(store)
    monkeypatch.undo()
    assert 0 < kept < 10_000
    with Store(tmp_path / "s.db") as store:
        assert [r.match.seed for r in store.results()] == list(range(kept))
        assert store.add(result(kept))


TTT = Environment("games/TicTacToe-v0")
KUHN = Environment("games/KuhnPoker-v0")
WIDE = Environment(TTT.id, options={"rows": 4})
BEGUN: dict[str, Any] = {"environments": (TTT, KUHN), "agents": ("a", "b"), "games": 4}
CONTRADICTIONS = [
    ({"schedule": Swiss()}, "schedule"),
    ({"seed": 9}, "seed"),
    ({"invalid": "forfeit"}, "invalid"),
    ({"agents": ("a", "c")}, "agents a, b, and b is left out"),
    ({"agents": ("a",)}, "b is left out"),
    ({"environments": (TTT,)}, "games/KuhnPoker-v0 is left out"),
    ({"environments": (WIDE, KUHN)}, "TicTacToe-v0 is left out"),
    ({"environments": (Environment(TTT.id, players=2), KUHN)}, "TicTacToe-v0 is left out"),
    ({"games": 3}, "4 games of every line-up, not of 3"),
]


def tournament(**changes: Any) -> Settings:
    return Settings(**{**BEGUN, **changes})


@pytest.mark.parametrize(("change", "said"), CONTRADICTIONS)
def test_settings_may_not_contradict_what_was_played(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with Store(tmp_path / "s.db") as store:
        store.begin(tournament())
        with pytest.raises(InvalidOption, match=said):
            store.begin(tournament(**change))
        assert store.settings() == tournament()


def test_settings_may_grow(tmp_path: Path) -> None:
    more = tournament(
        agents=("c", "b", "a"), games=50, environments=("games/Nim-v0", *BEGUN["environments"])
    )
    with Store(tmp_path / "s.db") as store:
        assert store.settings() is None
        store.begin(tournament())
        store.begin(more)
        assert store.settings() == more
    assert additions(tournament(), more) == [
        "environments games/Nim-v0",
        "agents c",
        "46 games of every line-up",
    ]


@pytest.mark.parametrize("schedule", [Swiss(), KnockOut(), Ladder(), Population(), Adaptive()])
@pytest.mark.parametrize(
    "change",
    [
        {"agents": ("a", "b", "c")},
        {"agents": ("b", "a")},
        {"games": 5},
        {"environments": (KUHN, TTT)},
    ],
)
def test_pairings_that_depend_on_earlier_games_cannot_be_added_to(
    schedule: Schedule, change: dict[str, Any], tmp_path: Path
) -> None:
    with Store(tmp_path / "s.db") as store:
        store.begin(tournament(schedule=schedule))
        store.begin(tournament(schedule=schedule))
        with pytest.raises(InvalidOption, match=min(change)):
            store.begin(tournament(schedule=schedule, **change))


def test_a_store_of_other_versions_is_named_and_resumed_only_if_that_is_wanted(
    tmp_path: Path,
) -> None:
    with Store(tmp_path / "s.db") as store:
        store.begin(tournament(), {"palestra": "1.0", "far_games": "2.0"})
        now = {"palestra": "1.0", "far_games": "2.1", "near_agents": "1.0"}
        with pytest.raises(InvalidOption, match=r"far_games 2\.0 \(installed: 2\.1\)"):
            store.begin(tournament(), now)
        assert store.versions()["far_games"] == "2.0"
        store.begin(tournament(), now, other_versions=True)
        store.begin(tournament(), now)
        assert store.versions() == now


def test_a_tournament_keeps_the_versions_of_rules_and_agents(tmp_path: Path) -> None:
    settings = Settings(environments=(TTT,), agents=("random", "mcts:simulations=1"), workers=0)
    run_tournament(msgspec.structs.replace(settings, games=1), tmp_path / "s.db")
    with Store(tmp_path / "s.db") as store:
        assert store.versions().keys() == {"palestra", "palestra_games", "palestra_agents"}


def test_ranks_follow_results_and_scores_only_where_there_is_no_result() -> None:
    assert ranks_of(["win", "loss"], [0, 5]) == (0, 1)
    assert ranks_of(["draw", "draw"], [1, 2]) == (0, 0)
    assert ranks_of(["score", "score", "score"], [1, 3, 3]) == (2, 0, 0)
    assert ranks_of(["none", "forfeit", "none"], [0, 9, 0]) == (0, 2, 0)
    assert points_of((0, 2, 0)) == (0.75, 0.0, 0.75)
    assert points_of((0,)) == (1.0,)


FORGED = {
    "a view that never ends": """
        ALTER TABLE agents RENAME TO others;
        CREATE VIEW agents AS WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more)
            SELECT n AS number, 'a' AS name FROM more WHERE n < 0;
    """,
    "a trigger": "CREATE TRIGGER more AFTER INSERT ON settings BEGIN DELETE FROM kinds; END",
    "another trigger of a known name": """
        DROP TRIGGER games_UPDATE;
        CREATE TRIGGER games_UPDATE AFTER INSERT ON kinds BEGIN DELETE FROM kinds; END;
    """,
    "a table of a module": "DROP TABLE tallied; CREATE VIRTUAL TABLE tallied USING fts5(body)",
    "a column that is computed": """
        DROP TABLE tallied;
        CREATE TABLE tallied (number INTEGER PRIMARY KEY, game INTEGER,
            body TEXT GENERATED ALWAYS AS (hex(zeroblob(500000000))) VIRTUAL);
    """,
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
def test_a_store_in_which_others_wrote_what_runs_is_not_read(tmp_path: Path, forged: str) -> None:
    with Store(tmp_path / "s.db") as store:
        store.add(result(0), b"{}")
    with closing(sqlite3.connect(tmp_path / "s.db")) as database:
        database.executescript(forged)
    with pytest.raises(StoreError, match="which no store of Palestra has"):
        Store(tmp_path / "s.db")


def test_statistics_of_sqlite_are_no_forgery(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.add(result(0))
    with closing(sqlite3.connect(tmp_path / "s.db")) as database:
        database.executescript("ANALYZE; VACUUM")
    with Store(tmp_path / "s.db") as store:
        assert len(store) == 1


def test_a_record_that_would_fill_the_memory_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("palestra_arena.store.LONGEST_RECORD", 1 << 16)
    with Store(tmp_path / "s.db") as store:
        store.add(result(0), b" " * (1 << 20))
        with pytest.raises(StoreError, match="longer than 65536 bytes"):
            list(store.records())


@pytest.mark.parametrize("times", [2**62, 0, -1])
def test_counts_that_differ_from_the_games_are_named(tmp_path: Path, times: int) -> None:
    with Store(tmp_path / "s.db") as store:
        store.add(result(0))
        assert store.tally()
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        database.execute("UPDATE kinds SET times = ?", (times,))
    with Store(tmp_path / "s.db") as store, pytest.raises(StoreError, match="counts differ"):
        store.tally()


def test_settings_in_a_store_that_are_no_table_are_named(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db"), closing(sqlite3.connect(tmp_path / "s.db")) as database:
        with database:
            database.execute("INSERT INTO settings (written, body) VALUES ('', '7')")
        with Store(tmp_path / "s.db") as store, pytest.raises(InvalidOption, match="not 7"):
            store.settings()
