"""Two deals that differ only in others' secrets give a seat the same bytes, by every address.

Both are played over real sockets, by the same moves, until the game itself reveals something.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import msgspec
import palestra
import pytest
from palestra import Rng
from palestra.kernel.episode import Episode
from websockets.sync.client import ClientConnection, connect

SHOW = ["legal_texts", "observation", "scene", "picture", "table", "forms"]
STEPS, SEATS, DRAWS = 8, 2, 20
HIDING = [
    "games/KuhnPoker-v0",
    "games/LeducHoldem-v0",
    "games/LiarsDice-v0",
    "games/Werewolf-v0",
    "games/Avalon-v0",
    "games/Codenames-v0",
    "games/SplitFacts-v0",
    "games/Taboo-v0",
    "text/Negotiation-v0",
    "games/MiniHanabi-v0",
]
HIDING = [env for env in HIDING if any(spec.id == env for spec in palestra.specs())]


@dataclass
class World:
    """One match: every seat is played over HTTP, and `seat` listens on a socket."""

    http: httpx.Client
    socket: ClientConnection
    match: str
    tokens: list[str]
    seat: int
    episode: Episode
    address: str

    def move(self, seat: int, text: str) -> None:
        answer = self.http.post("/seat/move", json={"text": text}, headers=self.header(seat))
        answer.raise_for_status()

    def header(self, seat: int) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[seat]}"}

    def watched(self) -> bytes:
        """What a spectator is told now, who knows less than any seat."""
        with connect(self.address, proxy=None, max_size=2**24) as socket:
            message = {"do": "watch", "handle": 1, "match": self.match, "show": SHOW}
            socket.send(msgspec.json.encode(message).decode())
            return str(socket.recv(timeout=20)).encode()

    def heard(self) -> list[bytes]:
        """All that the seat is told now: by its socket, and by each address that it may ask."""
        self.socket.send(msgspec.json.encode({"do": "look", "handle": 1, "show": SHOW}).decode())
        told = [str(self.socket.recv(timeout=20)).encode(), self.watched()]
        for address in (f"/seat?show={','.join(SHOW)}", "/seat/spaces", "/seat/record"):
            told.append(self.http.get(address, headers=self.header(self.seat)).content)
        return [text.replace(self.match.encode(), b"MATCH") for text in told]


@contextmanager
def world(url: str, server: Any, env: str, seat: int) -> Iterator[World]:
    with ExitStack() as held:
        http = held.enter_context(httpx.Client(base_url=url, timeout=60))
        wanted = {"env": env, "seed": 5, "max_episode_steps": 3 * STEPS, "move_seconds": 0}
        made = http.post("/matches", json=wanted)
        match = made.json()["match"]
        tokens = [
            http.post(f"/matches/{match}/join", json={"seat": taken}).json()["token"]
            for taken in range(palestra.game(env).num_players)
        ]
        address = url.replace("http", "ws") + "/ws"
        socket = held.enter_context(connect(address, proxy=None, max_size=2**24))
        message = {"do": "sit", "handle": 1, "token": tokens[seat], "show": SHOW}
        socket.send(msgspec.json.encode(message).decode())
        socket.recv(timeout=20)
        yield World(http, socket, match, tokens, seat, server.match(match).episode, address)


@contextmanager
def two_deals(url: str, server: Any, env: str, seat: int) -> Iterator[tuple[World, World, bool]]:
    """Two matches, in the second of which others' secrets are redrawn; whether that changed any."""
    with world(url, server, env, seat) as one, world(url, server, env, seat) as other:
        state, game = one.episode.state, one.episode.game
        draws = [game.determinize(state, seat, Rng(draw)) for draw in range(DRAWS)]
        key = game.state_key(state)
        hidden = next((drawn for drawn in draws if game.state_key(drawn) != key), state)
        one.episode.load(state)
        other.episode.load(hidden)
        yield one, other, hidden is not state


def told_alike(one: World, other: World) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """What the seat is told in both, before every step that is the same in both."""
    here, there, rng = one.episode, other.episode, Rng(one.seat + 1)
    for _ in range(STEPS):
        if here.over or there.over or here.to_act != there.to_act:
            return
        yield one.heard(), other.heard()
        texts = {mover: here.action_text(mover, here.sample(mover, rng)) for mover in here.to_act}
        if not all(is_legal(there, mover, text) for mover, text in texts.items()):
            return
        before = len(here.log)
        for mover, text in texts.items():
            one.move(mover, text)
            other.move(mover, text)
        new = [event for e in (here, there) for step in e.log[before:] for event in step]
        if any(event.kind == "reveal" and event.visible_to(one.seat) for event in new):
            return


def is_legal(episode: Episode, seat: int, text: str) -> bool:
    try:
        episode.check(seat, episode.parse(seat, text))
    except palestra.InvalidAction:
        return False
    return True


@pytest.mark.parametrize("env", HIDING)
def test_a_seat_hears_the_same_whatever_is_hidden_from_it(server: Any, env: str) -> None:
    compared = redrawn = 0
    for seat in range(SEATS):
        with two_deals(*server, env, seat) as (one, other, changed):
            redrawn += changed
            for heard, as_heard in told_alike(one, other):
                assert heard == as_heard, f"seat {seat}, step {one.episode.steps_played}"
                compared += 1
    assert compared >= SEATS
    assert redrawn, "nothing was hidden"


def told_since(socket: ClientConnection) -> list[Any]:
    """Every frame that came by itself, before the answer to a message that nobody understands."""
    socket.send('{"do": "dance"}')
    frames = [msgspec.json.decode(socket.recv(timeout=20))]
    while "kind" not in frames[-1]:
        frames.append(msgspec.json.decode(socket.recv(timeout=20)))
    return frames[:-1]


HIDDEN_TURNS = ["games/KuhnPoker-v0", "games/Werewolf-v0", "markets/SealedAuction-v0"]


@pytest.mark.parametrize("env", HIDDEN_TURNS)
def test_nobody_hears_of_answers_before_the_step_that_shows_them(server: Any, env: str) -> None:
    with ExitStack() as held:
        played = held.enter_context(world(*server, env, 0))
        episode, seats, sockets = played.episode, range(len(played.tokens)), {}
        for who in (-1, *seats):
            sockets[who] = held.enter_context(connect(played.address, proxy=None, max_size=2**24))
            place = {"do": "watch", "match": played.match} if who < 0 else {"do": "sit"}
            token = "" if who < 0 else played.tokens[who]
            sockets[who].send(msgspec.json.encode({**place, "token": token, "live": True}).decode())
            sockets[who].recv(timeout=20)
        acting, rng = episode.to_act, Rng(1)
        texts = {seat: episode.action_text(seat, episode.sample(seat, rng)) for seat in acting}
        for place, (seat, text) in enumerate(texts.items(), 1):
            played.move(seat, "no such move")
            for who, socket in sockets.items():
                assert bool(told_since(socket)) == (who == seat)
            assert episode.steps_played == 0
            played.move(seat, text)
            if place < len(texts):
                assert all(bool(told_since(sockets[who])) == (who == seat) for who in sockets)
        for socket in sockets.values():
            (told,) = told_since(socket)
            assert told["turn"] == 1


def test_a_leak_in_what_a_server_answers_is_found(
    server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison above fails if a view holds what another seat has."""
    with two_deals(*server, "games/KuhnPoker-v0", 0) as (one, other, changed):
        assert changed
        kind = type(one.episode.game)
        real = kind.describe
        monkeypatch.setattr(kind, "describe", lambda game, state, seat: real(game, state, 1 - seat))
        heard, as_heard = next(told_alike(one, other))
        assert heard != as_heard
