"""A write that fails changes nothing: whoever asks again gets what they asked for."""

import asyncio

import pytest
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
