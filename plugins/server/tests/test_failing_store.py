"""A write that fails changes nothing: whoever asks again gets what they asked for."""

import asyncio
import sqlite3

import httpx
import msgspec
import pytest
from palestra_server.app import create_app
from palestra_server.messages import OPEN, Create, Join, Move
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore, StoreError

TTT = "games/TicTacToe-v0"


def failing_once(store, method, monkeypatch, error):
    """Let the next call of a store's method raise."""
    real = getattr(store, method)

    def fail(*given, **more):
        monkeypatch.setattr(store, method, real)
        raise error

    monkeypatch.setattr(store, method, fail)


def run_on(tmp_path, play):
    async def run():
        server = MatchServer(MatchStore(f"sqlite:///{tmp_path}/m.db"))
        await server.start()
        await play(server)
        await server.stop()

    asyncio.run(run())


def test_a_seat_that_could_not_be_written_is_still_free(tmp_path, monkeypatch):
    async def play(server):
        match = (await server.create(Create(TTT, (OPEN, OPEN), seed=1))).match
        for seat in (1, 0):
            failing_once(server.store, "sit", monkeypatch, StoreError("the disk is full"))
            with pytest.raises(StoreError):
                await server.join(match, Join(seat))
            assert server.match(match).free == set(range(seat + 1))
            granted = await server.join(match, Join(seat))
            assert server.seat(granted.token) == (match, seat)
        assert server.match(match).started

    run_on(tmp_path, play)


@pytest.mark.parametrize("method", ["create", "follow_up"])
@pytest.mark.parametrize("error", [StoreError("the disk is full"), RuntimeError("a fault")])
def test_a_next_match_that_could_not_be_opened_is_opened_when_asked_again(
    tmp_path, monkeypatch, method, error
):
    async def play(server):
        match = (await server.create(Create(TTT, (OPEN, OPEN), seed=1))).match
        tokens = [(await server.join(match, Join(seat))).token for seat in (0, 1)]
        keys = [server.seat(token) for token in tokens]
        for turn, cell in enumerate((0, 3, 1, 4, 2)):
            await server.move(keys[turn % 2], Move(action=cell))
        failing_once(server.store, method, monkeypatch, error)
        with pytest.raises(type(error)):
            await server.again(tokens[1], True)
        found = [await server.again(token, True) for token in (*tokens, tokens[0])]
        assert len({again.match for again in found}) == 1
        assert [again.seat for again in found] == [0, 1, 0]
        assert server.store.load(match).next == found[0].match

    run_on(tmp_path, play)


@pytest.mark.parametrize("method", ["_insert", "_write"], ids=["answers", "matches"])
@pytest.mark.parametrize("cells", [(0, 3, 1, 4, 2), (0, 1, 2, 4, 3, 5, 7, 6, 8)])
def test_an_end_that_could_not_be_written_is_shown_to_nobody_and_written_later(
    tmp_path, monkeypatch, method, cells
):
    async def play(server):
        match = (await server.create(Create(TTT, (OPEN, OPEN), seed=1))).match
        tokens = [(await server.join(match, Join(seat))).token for seat in (0, 1)]
        for turn, cell in enumerate(cells[:-1]):
            await server.move(server.seat(tokens[turn % 2]), Move(action=cell))
        heard = []
        server.follow(server.seat(tokens[1]), lambda: heard.append(server.store.load(match)))
        transport = httpx.ASGITransport(create_app(server))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:

            async def status(method, path, seat=0, **more):
                keys = {"Authorization": f"Bearer {tokens[seat]}"}
                return (await client.request(method, path, headers=keys, **more)).status_code

            with monkeypatch.context() as full:

                def fail(*_):
                    raise StoreError("the disk is full")

                full.setattr(server.store, method, fail)
                last = {"action": cells[-1], "number": (len(cells) - 1) // 2}
                assert await status("POST", "/seat/move", json=last) == 503
                for seat in (0, 1):
                    assert await status("GET", "/seat", seat) == 503
                    assert await status("GET", "/seat/record", seat) == 503
                assert await status("GET", f"/matches/{match}/record") == 503
                assert not heard
                server.drop(match)  # it would come back without its end
            assert await status("POST", "/seat/move", json=last) == 200  # sent again, played once
            assert await status("GET", "/seat/record", 1) == 200
        kept = server.store.load(match)
        assert (len(kept.answers), kept.status) == (len(cells), "over")
        assert msgspec.json.decode(kept.record)["returns"] == list(
            server.record(server.seat(tokens[0])).returns
        )
        assert [(len(found.answers), found.status) for found in heard] == [(len(cells), "over")]

    run_on(tmp_path, play)


@pytest.mark.parametrize("error", [sqlite3.OperationalError("too many files"), MemoryError()])
def test_an_answer_is_kept_for_later_whatever_keeps_it_from_being_written(
    tmp_path, monkeypatch, error
):
    async def play(server):
        match = (await server.create(Create(TTT, (OPEN, "first"), seed=1))).match
        key = server.seat((await server.join(match, Join())).token)
        failing_once(server.store._engine, "raw_connection", monkeypatch, error)
        with pytest.raises((StoreError, MemoryError)):
            await server.move(key, Move(action=8))
        await server.move(key, Move(action=7))
        assert [answer.action for answer in server.store.load(match).answers] == [8, 0, 7, 1]

    run_on(tmp_path, play)
