"""What an operator sees and limits: readiness, metrics, the log, clocks, restarts."""

import asyncio
import json
import logging
import re
import sqlite3
import sys
import time

import httpx
import pytest
from palestra_server import audit
from palestra_server.audit import note
from palestra_server.client import Server, ServerRefused
from palestra_server.limits import Limits
from palestra_server.logs import JsonLines, _audit_as_json, _audit_as_text
from palestra_server.messages import OPEN, Create, Join, Move
from palestra_server.plans import MatchDefaults, plan_for
from palestra_server.refused import RequestRefused
from palestra_server.seats import SeatKey
from palestra_server.server import MatchServer
from palestra_server.store import MATCHES, MatchStore
from serving import serving
from sqlalchemy import update
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

TTT = "games/TicTacToe-v0"


@pytest.fixture
def audited(caplog):
    caplog.set_level(logging.INFO, "palestra.server.audit")
    return caplog


def server_at(folder, **limits):
    return MatchServer(MatchStore(f"sqlite:///{folder}/m.db"), Limits(**limits))


def test_each_join_move_and_refusal_has_a_line_without_secrets(server, audited):
    url, _ = server
    client = Server(url)
    match, invite = client.create_private(TTT, [OPEN, "first"], public=False)
    with pytest.raises(ServerRefused):
        client.join(match)
    seat = client.join(match, 0, "ada", invite)
    seat.move(4)
    assert httpx.get(f"{url}/seat", headers={"Authorization": "Bearer wrong"}).status_code == 401
    told = [(record.event, getattr(record, "match", "")) for record in audited.records]
    assert ("create", match) in told
    assert ("join", match) in told
    assert told.count(("move", match)) == 1
    assert [event for event, _ in told].count("refuse") == 2
    lines = [JsonLines().format(record) for record in audited.records]
    assert not any(seat.token in line or invite in line for line in lines)
    moved = next(json.loads(line) for line in lines if '"move"' in line)
    assert (moved["match"], moved["seat"], moved["level"]) == (match, 0, "info")
    seat.close()
    client.close()


def test_a_line_of_the_log_cannot_be_forged(audited):
    note("refuse", reason="x\nfake join match=1")
    assert "\n" not in JsonLines().format(audited.records[0])
    assert "\n" not in audited.records[0].getMessage()


@pytest.fixture
def written(monkeypatch, audited):
    monkeypatch.setattr("palestra_server.audit._write", audit._write)
    return monkeypatch


@pytest.mark.parametrize("as_json", [False, True])
def test_lines_that_were_kept_are_written_together_and_in_order(written, capsys, as_json):
    audit.write_by(_audit_as_json if as_json else _audit_as_text)
    audit.keep("move", "m1", 0)
    audit.keep("move", "m2", 3)
    assert capsys.readouterr().err == ""
    note("refuse", reason="x\nfake join match=1")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    if as_json:
        told = [json.loads(line) for line in lines]
        assert [one["event"] for one in told] == ["move", "move", "refuse"]
        assert [one.get("seat") for one in told] == [0, 3, None]
    else:
        assert [line.partition("audit ")[2] for line in lines] == [
            "move match='m1' seat=0",
            "move match='m2' seat=3",
            r"refuse reason='x\nfake join match=1'",
        ]


def test_a_log_that_nobody_reads_stops_no_match(written, tmp_path, server):
    audit.write_by(_audit_as_text)
    with open(tmp_path / "log", "w") as closed:
        pass
    written.setattr(sys, "stderr", closed)
    client = Server(server[0])
    seat = client.join(client.create(TTT, [OPEN, "first"]))
    assert seat.move(4).turn == 2
    seat.close()
    client.close()


def test_old_matches_are_deleted_and_no_others(tmp_path):
    store = MatchStore(f"sqlite:///{tmp_path}/m.db")

    async def run():
        server = MatchServer(store, Limits(idle_seconds=0.2, keep_days=2))
        await server.start()
        names = {}
        for name, agents, moves in (
            ("over", ("first", "first"), 0),
            ("begun", (OPEN, OPEN), 1),
            ("waiting", (OPEN, OPEN), 0),
            ("new", ("first", "first"), 0),
        ):
            match = (await server.create(Create(TTT, agents))).match
            names[name] = match
            if moves:
                keys = [
                    server.seat((await server.join(match, Join(seat))).token) for seat in (0, 1)
                ]
                await server.move(keys[0], Move(action=4))
        age(store, [names[name] for name in ("over", "begun", "waiting")], days=3)
        until = time.monotonic() + 20
        while server.metrics.pruned < 2 and time.monotonic() < until:
            await asyncio.sleep(0.05)
        assert server.metrics.pruned == 2
        for gone in ("over", "waiting"):
            with pytest.raises(RequestRefused, match="has no match"):
                server.match(names[gone])
        assert server.match(names["new"]).over
        assert server.match(names["begun"]).episode.steps_played == 1
        await server.stop()

    asyncio.run(run())


def age(store, names, days):
    """Make matches older than they are."""
    before = int(time.time() - days * 86_400)
    store._write(update(MATCHES).where(MATCHES.c.name.in_(names)).values(changed=before))


def test_a_database_of_an_earlier_version_is_opened_and_its_matches_count_from_now(tmp_path):
    file = tmp_path / "m.db"
    store = MatchStore(f"sqlite:///{file}")
    store.create("old", plan_for(Create(TTT, ("first", "first")), MatchDefaults()), b"i")
    store.finish("old", "over", b"{}")
    store.flush()
    store.close()
    with sqlite3.connect(file) as raw:
        raw.execute("ALTER TABLE matches DROP COLUMN changed")
    raw.close()
    store = MatchStore(f"sqlite:///{file}")
    assert store.prune(time.time() - 60) == 0
    assert store.load("old").status == "over"
    assert store.prune(time.time() + 60) == 1
    assert store.load("old") is None
    store.close()


def test_metrics_are_prometheus_text(server):
    url, running = server
    client = Server(url)
    seat = client.join(client.create(TTT, [OPEN, "first"]))
    before = running.metrics.moves
    seat.move(0)
    text = httpx.get(f"{url}/metrics").text
    values = dict(re.findall(r"^(palestra_\w+) ([0-9.]+)$", text, re.MULTILINE))
    assert int(values["palestra_moves_total"]) == running.metrics.moves == before + 1
    assert int(values["palestra_sockets"]) == running.metrics.sockets >= 1
    assert int(values["palestra_journal_seconds_count"]) > 0
    buckets = re.findall(r'seconds_bucket{le="([^"]+)"} (\d+)', text)
    counts = [int(count) for _, count in buckets]
    assert counts == sorted(counts)
    assert buckets[-1] == ("+Inf", values["palestra_journal_seconds_count"])
    kinds = re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE)
    assert len(kinds) == len({name for name, _ in kinds}) == text.count("# HELP")
    seat.close()
    client.close()


def test_ready_says_when_no_match_can_be_opened(tmp_path):
    with serving(tmp_path, limits=Limits(matches=1)) as (url, _):
        assert httpx.get(f"{url}/ready").json() == {"status": "ready"}
        client = Server(url)
        client.create(TTT)
        assert httpx.get(f"{url}/ready").status_code == 503
        assert httpx.get(f"{url}/health").json() == {"status": "ok"}
        with pytest.raises(ServerRefused, match="1 matches are played already"):
            client.create(TTT)
        client.close()


def test_connections_and_messages_have_limits(tmp_path):
    with serving(tmp_path, limits=Limits(sockets=2, messages=20)) as (url, running):
        address = url.replace("http", "ws") + "/ws"
        with connect(address, proxy=None) as one, connect(address, proxy=None):
            with connect(address, proxy=None) as third, pytest.raises(ConnectionClosed) as ended:
                third.recv(timeout=10)
            assert ended.value.rcvd.code == 1013
            one.send(json.dumps([{"do": "look"}] * 100))
            with pytest.raises(ConnectionClosed) as flooded:
                one.recv(timeout=10)
            assert flooded.value.rcvd.code == 1008
        assert running.metrics.throttled == 2


def test_a_seat_may_answer_so_often_and_no_more(tmp_path):
    async def run():
        server = server_at(tmp_path, moves=3)
        await server.start()
        match = (await server.create(Create(TTT, (OPEN, OPEN), seed=1))).match
        keys = [server.seat((await server.join(match, Join(seat))).token) for seat in (0, 1)]
        counted = [server.take(keys[0], Move(action=0, number=0)) for _ in range(3)]
        assert counted == [True, False, False]
        with pytest.raises(RequestRefused, match="3 times a second") as refused:
            server.take(keys[0], Move(action=1))
        assert refused.value.status == 429
        assert server.take(keys[1], Move(action=1)), "another seat is not held up"
        await server.stop()

    asyncio.run(run())


def test_an_idle_match_leaves_memory_and_comes_back(tmp_path):
    async def run():
        server = server_at(tmp_path, idle_seconds=0.2)
        await server.start()
        match = (await server.create(Create(TTT, (OPEN, "first"), seed=1))).match
        key = server.seat((await server.join(match, Join())).token)
        await server.move(key, Move(action=4))
        seen = server.look(key, with_rules=True)
        for _ in range(100):
            await asyncio.sleep(0.05)
            if server.metrics.evicted:
                break
        assert server.counts().values["live"] == 0
        assert server.look(key, with_rules=True) == seen
        await server.stop()

    asyncio.run(run())


def test_the_next_match_is_found_after_a_restart(tmp_path):
    async def run():
        server = server_at(tmp_path)
        await server.start()
        opened = await server.create(Create(TTT, (OPEN, OPEN), seed=1, public=False))
        tokens = [
            (await server.join(opened.match, Join(seat, f"p{seat}", opened.invite))).token
            for seat in (0, 1)
        ]
        await server.resign(server.seat(tokens[0]))
        first = await server.again(tokens[0], True)
        assert first.invite
        await server.stop()
        server = server_at(tmp_path)
        await server.start()
        second = await server.again(tokens[1], False)
        assert (second.match, second.seat, second.invite) == (first.match, 1, "")
        assert server.match(first.match).started
        await server.stop()

    asyncio.run(run())


@pytest.mark.parametrize(("env", "known"), [(TTT, True), ("games/KuhnPoker-v0", False)])
def test_a_clock_of_another_seat_is_shown_where_its_turn_is_known(tmp_path, env, known):
    async def run():
        server = server_at(tmp_path)
        await server.start()
        match = (await server.create(Create(env, (OPEN, OPEN), seed=1, move_seconds=50.0))).match
        for seat in (0, 1):
            await server.join(match, Join(seat))
        acting = server.match(match).due()[0]
        own = server.look(SeatKey(match, acting), show=["table"])
        other = server.look(SeatKey(match, 1 - acting), show=["table"])
        assert 45 < own.seconds_left <= 50
        assert other.seconds_left is None
        shown = other.table.seats[acting].seconds_left
        assert (shown is not None) == known
        assert other.table.seats[1 - acting].seconds_left is None
        watching = server.look(SeatKey(match, -1), show=["table"])
        assert (watching.table.seats[acting].seconds_left is not None) == known
        await server.stop()

    asyncio.run(run())


def test_a_clock_that_jumps_costs_nobody_a_move(server, monkeypatch):
    url, _ = server
    client = Server(url)
    match = client.create("games/MatrixGame-v0", move_seconds=20, options={"rounds": 6})
    seats = [client.join(match, seat) for seat in (0, 1)]
    times = iter(range(2 * 10**9, 0, -(10**6)))  # backwards, eleven days at each look
    monkeypatch.setattr(time, "time", lambda: float(next(times)))
    for number in range(6):
        for seat in seats:
            assert seat.turn(20).status != "over"
            seat.answer(number % 2)
    assert [seat.turn(20).status for seat in seats] == ["over", "over"]
    record = client.record(seats[0].token)
    assert record["mistakes"] == [0, 0]
    played = [[turn["action"] for turn in step["turns"]] for step in record["steps"]]
    assert played == [[number % 2] * 2 for number in range(6)]
    for seat in seats:
        seat.close()
    client.close()
