"""Nothing that was confirmed is lost, whenever the server dies."""

import asyncio
import contextlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import httpx
import msgspec
import pytest
from palestra import Rng
from palestra.records.record import replay
from palestra.runner.run_folder import hold_lock
from palestra_server.app import create_app
from palestra_server.client import Server
from palestra_server.connections import DIRECT
from palestra_server.messages import OPEN, Answer, Create, Join, MatchPlan, Move
from palestra_server.refused import RequestRefused
from palestra_server.server import MatchServer
from palestra_server.socket import SocketSession
from palestra_server.store import MatchStore, StoreError
from serving import serving
from sqlalchemy import Engine, event


def crashed(folder, number):
    """A copy of the database as a process that was killed now would leave it."""
    copy = folder / f"crash{number}"
    copy.mkdir()
    for file in folder.glob("matches.db*"):
        shutil.copy(file, copy / file.name)
    return copy / "matches.db"


@pytest.mark.parametrize("env", ["games/ConnectFour-v0", "games/MatrixGame-v0"])
def test_after_every_message_a_dead_server_is_as_the_living_one(tmp_path, env):
    async def run():
        server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/matches.db"))
        await server.start()
        options = {"rounds": 6} if "Matrix" in env else {}
        wanted = Create(env, (OPEN, "random"), options=options, seed=4)
        match = (await server.create(wanted)).match
        token = (await server.join(match, Join(name="ada"))).token
        key, rng, crashes = server.seat(token), Rng.seeded(1), 0
        while True:
            copy = crashed(tmp_path, crashes)
            crashes += 1
            again = MatchServer(MatchStore(f"sqlite:///{copy}"))
            await again.start()
            assert again.seat(token) == key
            assert again.look(key, with_rules=True) == server.look(key, with_rules=True)
            assert again.look(key, show=["observation", "legal_texts"]) == server.look(
                key, show=["observation", "legal_texts"]
            )
            if server.match(match).over:
                assert again.record(key) == server.record(key)
            await again.stop()
            if server.match(match).over:
                break
            view = server.look(key)
            number = view.number
            bad = crashes % 3 == 2  # a refused answer is a message too
            action = 99 if bad else server.match(match).episode.sample(key.seat, rng)
            assert await server.move(key, Move(action=action, number=number))
            assert not await server.move(key, Move(action=0, number=number)), "played twice"
        assert crashes > 3
        record = server.record(key)
        assert record.agents[0] == "remote:ada"
        assert tuple(replay(record).returns) == record.returns
        await server.stop()

    asyncio.run(run())


def test_a_disk_that_is_full_takes_no_move_and_keeps_it_for_later(tmp_path, monkeypatch):
    async def run():
        store = MatchStore(f"sqlite:///{tmp_path}/matches.db")
        server = MatchServer(store)
        await server.start()
        wanted = Create("games/TicTacToe-v0", (OPEN, "first"), seed=1)
        match = (await server.create(wanted)).match
        key = server.seat((await server.join(match, Join())).token)
        write = store._insert

        def full(rows):
            raise StoreError("cannot write the database: disk full")

        monkeypatch.setattr(store, "_insert", full)
        told = []
        server.follow(key, lambda: told.append(1))
        with pytest.raises(StoreError, match="disk full"):
            await server.move(key, Move(action=8))
        assert not told
        monkeypatch.setattr(store, "_insert", write)
        assert await server.move(key, Move(action=7, number=1))
        assert len(store.load(match).answers) == 4
        await server.stop()

    asyncio.run(run())


async def seen(server, token):
    """What GET /seat answers."""
    transport = httpx.ASGITransport(create_app(server), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get("/seat", headers={"Authorization": f"Bearer {token}"})
        return answer.status_code, answer.json().get("turn")


class Frames:
    """A direct socket that keeps what its client would be sent."""

    blocked = False

    def __init__(self, kept):
        self.kept = kept

    def listen(self, listener):
        pass

    def hold(self, held):
        pass

    def tell(self, said, *, binary):
        self.kept.append(("told", msgspec.json.decode(said)))


def test_nobody_is_shown_what_could_still_be_lost(tmp_path, monkeypatch):
    async def run():
        server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/matches.db"))
        await server.start()
        wanted = Create("games/TicTacToe-v0", (OPEN, OPEN), seed=4)
        opened = await server.create(wanted)
        joined = Join(invite=opened.invite)
        tokens = [(await server.join(opened.match, joined)).token for _ in range(2)]
        kept = []
        scope = {
            "type": "websocket",
            "scheme": "ws",
            "headers": [],
            "extensions": {DIRECT: Frames(kept)},
        }
        asking = SocketSession(server, scope, None, None)
        asking.received(msgspec.json.encode({"do": "sit", "token": tokens[1]}).decode())
        await asyncio.sleep(0.05)
        real, fails = server.store.flush, []

        def flush():
            if fails:
                kept.append(("failed", None))
                raise StoreError(fails.pop())
            real()
            kept.append(("written", None))

        monkeypatch.setattr(server.store, "flush", flush)

        async def moved(*why):
            fails.extend(why)
            kept.clear()
            turn = server.match(opened.match).episode.steps_played
            asking.received('{"do": "look"}')  # its view is made after the move of this moment
            server.take(server.seat(tokens[turn % 2]), Move(action=turn))
            status, shown = await seen(server, tokens[1])
            if why:
                assert status == 503
                assert {what for what, _ in kept} == {"failed"}
            else:
                assert (status, shown) == (200, turn + 1)
            while not any(
                what == "told" for what, _ in kept
            ):  # the journal tries again in a second
                await asyncio.sleep(0.01)
            assert next(what for what, _ in kept if what != "failed") == "written"
            assert kept[-1][1]["turn"] == turn + 1

        await moved()
        await moved("the disk is full")
        await moved()
        await server.stop()

    asyncio.run(run())


def test_a_flipped_byte_in_the_database_is_named(tmp_path):
    file = tmp_path / "matches.db"
    store = MatchStore(f"sqlite:///{file}")
    store.close()
    file.write_bytes(b"nonsense" * 1000)
    with pytest.raises(StoreError, match=r"cannot open the database .*matches\.db"):
        MatchStore(f"sqlite:///{file}")


def start(folder, port):
    """`palestra serve` as a process; returns it and its address once it listens."""
    command = [sys.executable, "-m", "palestra", "serve", "--port", str(port), "--store", "m.db"]
    with open(folder / "log.txt", "a", encoding="utf-8") as log:
        process = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True
        )
    line = process.stdout.readline()
    assert line.startswith("serving http://127.0.0.1:"), line
    return process, line.split()[1]


@pytest.mark.slow
@pytest.mark.essential
def test_a_server_that_is_killed_goes_on_where_it_was(tmp_path):
    process, url = start(tmp_path, 0)
    client = Server(url)
    match = client.create("games/MatrixGame-v0", [OPEN, "first"], options={"rounds": 9}, seed=2)
    seat = client.join(match, name="ada")
    try:
        for turn in range(9):
            if turn in (1, 4, 8):
                process.send_signal(signal.SIGKILL)
                process.wait()
                process.stdout.close()
                process, again = start(tmp_path, url.rsplit(":", 1)[1])
                assert again == url
            view = seat.move(turn % 2)
        assert view.status == "over"
        record = client.record(seat.token)
        assert [step["turns"][0]["action"] for step in record["steps"]] == [0, 1] * 4 + [0]
        assert record["mistakes"] == [0, 0]
        log = (tmp_path / "log.txt").read_text("utf-8")
        assert log.count(f"audit move match='{match}' seat=0\n") == 9
    finally:
        seat.close()
        client.close()
        process.terminate()
        process.wait()
        process.stdout.close()


def test_answers_keep_what_they_took():
    from msgspec import json
    from palestra import Usage

    answer = Answer(1, 3, text="Say(text='hi')", thought="hm", usage=Usage(tokens_in=7))
    assert json.decode(json.encode(answer), type=Answer) == answer


def test_two_servers_cannot_share_a_store(tmp_path):
    store = tmp_path / "matches.db"
    with hold_lock(tmp_path / "matches.db.lock", f"to {store}", "--store"):
        done = subprocess.run(
            [sys.executable, "-m", "palestra", "serve", "--store", str(store), "--port", "0"],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 2
    assert "another process is writing to" in done.stderr
    assert "choose another --store" in " ".join(done.stderr.split())
    assert not store.exists()


DAMAGE = [
    "UPDATE matches SET plan = x'7b'",
    "UPDATE matches SET plan = replace(plan, 'KuhnPoker', 'NotInstalled')",
    "UPDATE answers SET answer = x'00'",
    """UPDATE answers SET answer = '{"seat":9,"number":0,"action":1}'""",
    """UPDATE answers SET answer = '{"seat":0,"number":7,"action":"x"}'""",
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_match_that_cannot_be_restored_harms_no_other(tmp_path, caplog, damage):
    async def run():
        store = MatchStore(f"sqlite:///{tmp_path}/matches.db")
        server = MatchServer(store)
        await server.start()
        tokens = []
        for seed in range(2):
            wanted = Create("games/KuhnPoker-v0", (OPEN, OPEN), seed=seed)
            match = (await server.create(wanted)).match
            tokens.append((await server.join(match, Join(0))).token)
            await server.join(match, Join(1))
            await server.move(server.seat(tokens[-1]), Move(action=1, number=0))
        broken = server.seat(tokens[0]).match
        await server.stop()
        column = "name" if "matches" in damage else "match"
        with contextlib.closing(sqlite3.connect(tmp_path / "matches.db")) as database:
            database.execute(f"{damage} WHERE {column} = ?", (broken,))
            database.commit()
            before = database.execute("SELECT * FROM answers").fetchall()
        again = MatchServer(MatchStore(f"sqlite:///{tmp_path}/matches.db"))
        await again.start()
        assert again.look(again.seat(tokens[1])).number == 1
        with pytest.raises(
            RequestRefused, match=f"match {broken} cannot be restored .*restore a copy"
        ):
            again.look(again.seat(tokens[0]))
        await again.stop()
        with contextlib.closing(sqlite3.connect(tmp_path / "matches.db")) as database:
            assert database.execute("SELECT * FROM answers").fetchall() == before
        assert f"match={broken} is left out" in caplog.text

    asyncio.run(run())


def test_a_match_of_other_versions_waits_until_it_is_resumed_on_purpose(tmp_path, monkeypatch):
    async def run():
        store = f"sqlite:///{tmp_path}/matches.db"
        server = MatchServer(MatchStore(store))
        await server.start()
        wanted = Create("games/ConnectFour-v0", (OPEN, "random"), seed=4)
        match = (await server.create(wanted)).match
        key = server.seat((await server.join(match, Join())).token)
        await server.move(key, Move(action=3))
        plan = server.match(match).plan
        assert {"palestra", "palestra_games"} <= plan.versions.keys()
        await server.stop()
        later = {**plan.versions, "palestra_games": "9.9"}
        monkeypatch.setattr("palestra_server.memory.versions_of", lambda plan: later)
        server = MatchServer(MatchStore(store))
        await server.start()
        with pytest.raises(RequestRefused, match=r"palestra_games .* \(installed: 9.9\)"):
            server.look(key)
        await server.stop()
        server = MatchServer(MatchStore(store), other_versions=True)
        await server.start()
        assert server.look(key).number == 1
        await server.stop()

    asyncio.run(run())


def test_a_password_of_a_database_is_not_shown():
    with pytest.raises(StoreError) as refused:
        MatchStore("postgresql+psycopg://palestra:s3cret@127.0.0.1:1/matches")
    assert "palestra:***@127.0.0.1:1/matches" in str(refused.value)
    with pytest.raises(StoreError) as refused:
        MatchStore("postgresql://palestra:s3cret@127.0.0.1:port/matches")
    assert "s3cret" not in str(refused.value)


def test_a_client_hears_that_the_database_fails_and_nothing_of_where_it_is(tmp_path, monkeypatch):
    def failing(*_):
        raise StoreError("cannot write the database at db.inside: no route")

    with serving(tmp_path) as (url, server), monkeypatch.context() as broken:
        broken.setattr(server.store, "_write", failing)
        answer = httpx.post(f"{url}/matches", json={"env": "games/TicTacToe-v0"})
        assert answer.status_code == 503
        assert answer.json()["kind"] == "StoreError"
        assert "db.inside" not in answer.text


def test_whoever_sits_down_waits_for_a_database_that_starts_again(tmp_path, monkeypatch):
    with serving(tmp_path) as (url, server):
        client, failures = Server(url), [StoreError("it starts"), StoreError("it starts")]
        token, found = (
            client.take_seat(client.create("games/TicTacToe-v0", [OPEN, OPEN])),
            server.seat,
        )

        def seat(token):
            if failures:
                raise failures.pop()
            return found(token)

        monkeypatch.setattr(server, "seat", seat)
        sitting = client.sit(token)
        assert sitting.view.status == "waiting"
        assert not failures
        sitting.close(), client.close()


def test_answers_are_copied_into_the_database_while_others_are_written(tmp_path):
    """The log written ahead holds what is not copied yet, and who dies meanwhile loses nothing."""
    store = MatchStore(f"sqlite:///{tmp_path}/matches.db")
    file, written = tmp_path / "matches.db", 0
    small = file.stat().st_size
    until = time.monotonic() + 60
    while file.stat().st_size < small + 100_000:
        assert time.monotonic() < until, "nothing is copied"
        for match in range(50):
            store.add(f"match{match:03}", written, Answer(0, written, action=1, thought="x" * 200))
        store.flush()
        written += 1
        if written % 20 == 1:
            check_answers(crashed(tmp_path, written), written)
    store.close()
    assert not list(tmp_path.glob("matches.db-*"))
    check_answers(file, written)


def check_answers(file, count):
    with contextlib.closing(sqlite3.connect(file)) as kept:
        assert kept.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        places = kept.execute("SELECT match, COUNT(*), MAX(place) FROM answers GROUP BY match")
        assert {row[1:] for row in places} == {(count, count - 1)}


def test_matches_that_end_together_are_written_in_one_transaction(tmp_path):
    store = MatchStore(f"sqlite:///{tmp_path}/matches.db")
    names = [f"m{number}" for number in range(20)]
    for name in names:
        store.create(
            name, MatchPlan(env="games/TicTacToe-v0", seats=("first", "first"), seed=1), b"i"
        )
        store.finish(name, "over", name.encode())
    commits = []
    count = commits.append
    event.listen(Engine, "commit", count)
    try:
        store.flush()
    finally:
        event.remove(Engine, "commit", count)
    assert len(commits) == 1
    assert not store.pending
    assert [store.load(name).record for name in names] == [name.encode() for name in names]
    store.close()
