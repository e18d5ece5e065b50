"""Clients that fail in every way they can: no move is lost, and none is played twice.

Every fault hits one answer of one seat, whose moves are planned beforehand. A dying server is the
subject of tests/test_kill.py and test_workers.py.
"""

import contextlib
import json
import socket
import struct
from collections import Counter

import msgspec
import pytest
from palestra import EpisodeRecord, Rng
from palestra.records.record import replay
from palestra_server.client import Server
from palestra_server.messages import OPEN, MatchPlan
from palestra_server.store import MatchStore
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

FAULTS = (
    "killed before the answer",
    "killed within the answer",
    "killed after the answer",
    "half-open",
    "repeated",
    "too early",
    "too late",
    "two connections",
    "illegal",
    "too long",
    "nearly too long",
    "garbage",
    "nothing",
)


class Player:
    """One seat, played over connections that do not last."""

    def __init__(self, url, token):
        self.url, self.token = url.replace("http", "ws") + "/ws", token
        self.idle, self.mistakes = [], 0
        self.sit()

    def sit(self):
        self.open = contextlib.ExitStack()
        connecting = connect(self.url, proxy=None, max_size=2**24, close_timeout=0.1)
        self.socket = self.open.enter_context(connecting)
        self.send({"do": "sit", "token": self.token})
        self.view = self.read()

    def leave(self):
        """Keep the connection open, and say and read nothing more on it."""
        self.idle.append(self.open)
        if len(self.idle) > 5:
            self.end(self.idle.pop(0))

    @staticmethod
    def end(connection):
        with contextlib.suppress(ConnectionClosed, OSError):
            connection.close()

    def send(self, message):
        self.socket.send(json.dumps(message))

    def read(self):
        """The next view; refusals are passed over."""
        while True:
            frame = self.socket.recv(timeout=30)  # in the form of the last frame sent
            told = json.loads(frame) if isinstance(frame, str) else msgspec.msgpack.decode(frame)
            for part in told if isinstance(told, list) else [told]:
                if "match" in part:
                    self.view = part
            if "match" in (told[-1] if isinstance(told, list) else told):
                return self.view

    def turn(self):
        """The view of the seat's turn, or of the end."""
        while not self.view.get("your_turn") and self.view["status"] != "over":
            self.read()
        return self.view

    def look(self):
        self.send({"do": "look"})
        return self.read()

    def answer(self, action, number):
        return {"do": "move", "move": {"action": action, "number": number}}

    def kill(self):
        """End the connection without a word, as a process that dies."""
        raw = self.socket.socket
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(OSError):
            raw.shutdown(socket.SHUT_RDWR)
        self.end(self.open)

    def close(self):
        for one in [*self.idle, self.open]:
            self.end(one)

    def suffer(self, fault, action):
        """Answer the turn, whatever happens meanwhile."""
        number = self.view.get("number", 0)
        move = self.answer(action, number)
        other = self.answer(1 - action, number)
        if fault == "killed before the answer":
            self.kill()
            self.sit()
        elif fault == "killed within the answer":
            frame = json.dumps(move).encode()
            head = bytes([0x81, 0x80 | len(frame)]) + bytes(4)
            self.socket.socket.sendall((head + frame)[: len(frame) // 2])
            self.kill()
            self.sit()
        elif fault == "killed after the answer":
            self.send(move)
            self.kill()
            self.sit()
        elif fault == "half-open":
            self.leave()
            self.sit()
        elif fault == "repeated":
            for _ in range(4):
                self.send(move)
            self.send(other)  # the same number again: it says nothing new
        elif fault == "too early":
            self.send(self.answer(1 - action, number + 1))
        elif fault == "too late" and number:
            self.send(self.answer(1 - action, number - 1))
        elif fault == "two connections":
            self.send(move)
            self.leave()
            self.sit()
            self.send(move)
        elif fault == "illegal":
            self.send(self.answer(99, number))
            self.mistakes += 1
        elif fault == "too long":
            self.send({"do": "move", "move": {"text": "x" * 1_000_100, "number": number}})
            with contextlib.suppress(ConnectionClosed):
                self.socket.recv(timeout=30)
            self.kill()
            self.sit()
        elif fault == "nearly too long":
            self.send({"do": "move", "move": {"text": "x" * 900_000, "number": number}})
            self.mistakes += 1
        elif fault == "garbage":
            self.socket.send(b"\xc1\x00 nonsense")
            self.socket.send("{[")


def settled(player, turn, action):
    """Go on until the answer of this turn is played."""
    for _ in range(20):
        view = player.look()
        if view.get("turn", 0) > turn or view["status"] == "over":
            return
        if view.get("your_turn"):
            player.send(player.answer(action, view.get("number", 0)))
    raise AssertionError(f"turn {turn} is not played")


@pytest.mark.parametrize(
    "faults", [26, pytest.param(1_300, marks=pytest.mark.exhaustive)], ids="{} faults".format
)
def test_no_move_is_lost_or_played_twice(server, faults):
    url, running = server
    rng = Rng.seeded(faults)
    plan = [rng.below(2) for _ in range(faults)]
    client = Server(url)
    options = {"rounds": faults}
    match = client.create(
        "games/MatrixGame-v0", [OPEN, "first"], options=options, seed=3, invalid="retry:2"
    )
    seat = client.join(match)
    token = seat.token
    seat.close()
    player, injected = Player(url, token), Counter()
    for turn, action in enumerate(plan):
        assert player.turn().get("turn", 0) == turn
        fault = FAULTS[turn % len(FAULTS)]
        player.suffer(fault, action)
        injected[fault] += 1
        settled(player, turn, action)
    player.close()
    record = msgspec.convert(client.record(token), EpisodeRecord, strict=False)
    client.close()
    assert sum(injected.values()) == faults
    assert [step.turns[0].action for step in record.steps] == plan
    assert record.mistakes == (player.mistakes, 0)
    assert tuple(replay(record).returns) == record.returns
    assert record.returns == tuple(running.record(running.seat(token)).returns)


def test_the_journal_has_one_answer_at_a_place(tmp_path):
    from palestra_server.messages import Answer
    from palestra_server.store import OwnershipLost

    stores = [MatchStore(f"sqlite:///{tmp_path}/m.db") for _ in range(2)]
    plan = MatchPlan("games/TicTacToe-v0", (OPEN, "first"), 1)
    for name in ("a", "b"):
        stores[0].create(name, plan, b"", "one")
    for store, action in zip(stores, (3, 4), strict=True):
        store.add("a", 0, Answer(0, 0, action=action))
    stores[1].add("b", 0, Answer(0, 0, action=8))
    stores[0].flush()
    with pytest.raises(OwnershipLost, match="another server goes on with a"):
        stores[1].flush()
    assert [answer.action for answer in stores[1].load("a").answers] == [3]
    assert [answer.action for answer in stores[0].load("b").answers] == [8]
    assert stores[0].claim("a", "one", "two")
    assert not stores[1].claim("a", "one", "three"), "two servers took one match"
    assert stores[1].owner("a") == "two"
    for store in stores:
        store.close()
