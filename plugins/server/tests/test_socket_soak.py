"""Every socket that answers gets its next view, however its client sends and reads."""

import asyncio
import json
import random
from contextlib import closing, suppress

import msgspec
import pytest
import serving as own
from palestra_server import connections
from palestra_server.client import Server
from palestra_server.journal import Journal
from palestra_server.limits import Limits
from palestra_server.metrics import Metrics
from palestra_server.store import MatchStore
from serving import serving
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

WAYS = ("at once", "with pauses", "two in a frame", "two frames", "in fragments", "reads late")
LONGEST = 30.0  # seconds for a view; a lost wake-up lasts for ever
NOBODY = msgspec.msgpack.encode([{"do": "look", "handle": 9}] * 300)  # more to read than to send


def parts(frame):
    told = json.loads(frame) if isinstance(frame, str) else msgspec.msgpack.decode(frame)
    return told if isinstance(told, list) else [told]


def pieces(data, rng):
    """A message in two to four parts, of which some are empty."""
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(1, 4)))
    return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


async def send(socket, way, move, rng):
    """Send a move, in one of the `WAYS`."""
    one, look = msgspec.msgpack.encode(move), {"do": "look"}
    if way == "with pauses":
        await asyncio.sleep(rng.random() * 0.1)
    if way == "two in a frame":
        await socket.send(msgspec.msgpack.encode(rng.choice([[move, look], [look, move]])))
    elif way == "two frames":
        both = [one, msgspec.msgpack.encode(look)]
        for frame in rng.sample(both, 2):
            await socket.send(frame)
    elif way == "in fragments":
        await socket.send(pieces(one, rng))
    elif way == "reads late" and rng.random() < 0.2:
        for _ in range(rng.randrange(1, 12)):
            await socket.send(NOBODY)
        await socket.send(one)
        await asyncio.sleep(rng.random() * 0.3)
    else:
        await socket.send(one)


async def play(address, token, way, rng):
    """Play a match to its end; returns the actions sent."""
    sent, number = [], -1
    async with connect_async(address, proxy=None, max_queue=1, max_size=2**22) as socket:
        await socket.send(msgspec.msgpack.encode({"do": "sit", "token": token}))
        while True:
            for view in parts(await asyncio.wait_for(socket.recv(), LONGEST)):
                if view.get("status") == "over":
                    return sent
                if view.get("your_turn") and view.get("number", 0) > number:
                    number = view.get("number", 0)
                    sent.append(rng.randrange(2))
                    await send(socket, way, {"do": "move", "move": {"action": sent[-1]}}, rng)


@pytest.mark.parametrize("protocol", ["direct", "by ASGI"])
def test_every_answer_is_followed_by_a_view(tmp_path, monkeypatch, protocol):
    if protocol == "by ASGI":
        monkeypatch.setattr(own, "SETTINGS", connections.SETTINGS | {"ws": "auto"})
    count, rng = 30, random.Random(5)

    async def play_all(address, tokens):
        games = [
            play(address, token, WAYS[number % len(WAYS)], random.Random(number))
            for number, token in enumerate(tokens)
        ]
        return await asyncio.gather(*games)

    with serving(tmp_path, limits=Limits(messages=10**6)) as (url, _), closing(Server(url)) as http:
        rounds = [rng.randrange(20, 60) for _ in range(count)]
        matches = [
            http.create("games/MatrixGame-v0", ["open", "random"], options={"rounds": n}, seed=n)
            for n in rounds
        ]
        tokens = [http.take_seat(match, 0) for match in matches]
        sent = asyncio.run(play_all(url.replace("http", "ws") + "/ws", tokens))
        assert [len(actions) for actions in sent] == rounds
        for token, actions in zip(tokens, sent, strict=True):
            steps = http.record(token)["steps"]
            assert [step["turns"][0]["action"] for step in steps] == actions


@pytest.mark.parametrize("protocol", ["direct", "by ASGI"])
@pytest.mark.parametrize("value", ["\ud800", object()])
def test_a_view_that_cannot_be_written_ends_its_connection(tmp_path, monkeypatch, protocol, value):
    if protocol == "by ASGI":
        monkeypatch.setattr(own, "SETTINGS", connections.SETTINGS | {"ws": "auto"})
    with serving(tmp_path) as (url, server), closing(Server(url)) as http:
        token = http.take_seat(http.create("games/TicTacToe-v0", ["open"] * 2))
        look = server.look

        def unwritable(*asked, **named):
            view = look(*asked, **named)
            view.observation = value
            return view

        monkeypatch.setattr(server, "look", unwritable)
        with connect(url.replace("http", "ws") + "/ws", proxy=None) as socket:
            socket.send(json.dumps({"do": "sit", "token": token}))
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(20)
        assert closed.value.rcvd.code == 1012


def test_pings_are_answered_while_a_message_takes_long(tmp_path, monkeypatch):
    quick = {"ws_ping_interval": 0.2, "ws_ping_timeout": 0.4}
    monkeypatch.setattr(own, "SETTINGS", connections.SETTINGS | quick)
    with serving(tmp_path) as (url, server), closing(Server(url)) as http:
        token = http.take_seat(http.create("games/TicTacToe-v0", ["open"] * 2))

        async def long(key, move):
            await asyncio.sleep(2.0)

        monkeypatch.setattr(server, "try_move", long)
        with connect(url.replace("http", "ws") + "/ws", proxy=None) as socket:
            socket.send(json.dumps({"do": "sit", "token": token}))
            assert parts(socket.recv(20))[0]["status"] == "waiting"
            socket.send(json.dumps({"do": "try", "move": {"text": "anything"}}))
            assert parts(socket.recv(20))[0]["status"] == "waiting"


class Following:
    """A match as the journal sees one, and whether its followers were notified."""

    def __init__(self, fault=None):
        self.match, self.fault, self.woken = self, fault, 0
        self.name, self.lost = "m", False

    def notify(self):
        self.woken += 1
        if self.fault:
            raise self.fault


def test_a_fault_of_one_match_keeps_no_other_from_its_views(tmp_path):
    async def run():
        store = MatchStore(f"sqlite:///{tmp_path}/m.db")
        journal = Journal(store, Metrics(), lambda names: None)
        lives = [Following(ZeroDivisionError("rules")) if n % 3 else Following() for n in range(9)]
        for live in lives:
            journal.changed(live)
        await journal.committed()
        store.close()
        return [live.woken for live in lives]

    assert asyncio.run(run()) == [1] * 9


def test_the_journal_goes_on_after_a_fault_that_nobody_expects(tmp_path, monkeypatch, caplog):
    async def run():
        store = MatchStore(f"sqlite:///{tmp_path}/m.db")
        journal, live = Journal(store, Metrics(), lambda names: None), Following()
        with monkeypatch.context() as broken:
            broken.setattr("palestra_server.journal.write_kept", lambda: 1 / 0)
            journal.changed(live)
            with pytest.raises(ZeroDivisionError):
                await journal.committed()
            assert live.woken == 0
        for _ in range(300):
            if live.woken:
                break
            await asyncio.sleep(0.01)
        with suppress(ZeroDivisionError):
            await journal.committed()
        store.close()
        return live.woken

    assert asyncio.run(run()) == 1
    assert "division by zero" in caplog.text
