"""Who plays which seat: tokens, of which the store and this process keep hashes only."""

from __future__ import annotations

import hmac
from typing import NamedTuple

from palestra import InvalidOption
from palestra.quoting import disarm

from palestra_server.audit import note
from palestra_server.live import Live
from palestra_server.memory import Memory
from palestra_server.messages import HandOver, Join, SeatGrant
from palestra_server.refused import RequestRefused
from palestra_server.store import MatchStore, digest, seat_token, watch_word
from palestra_server.table import WATCHER

LONGEST_NAME = 200


class SeatKey(NamedTuple):
    """One seat of one match; seat `WATCHER` is a spectator's."""

    match: str
    seat: int

    def check_seated(self) -> None:
        """Raise `RequestRefused` for a spectator."""
        if self.seat == WATCHER:
            raise RequestRefused("a spectator has no seat; join the match to play")


class Seats:
    """Gives seats to clients, and finds the seat that a token opens."""

    def __init__(self, store: MatchStore, memory: Memory) -> None:
        self._store, self._memory = store, memory
        self._kept: dict[bytes, SeatKey] = {}  # by the hash of a token, of matches in memory

    def of(self, token: str) -> SeatKey:
        """The seat that a token opens; raises `RequestRefused`."""
        key = self._held(token)
        if key is None:
            raise RequestRefused("this token opens no seat; join a match first", 401)
        return key

    def take(self, live: Live, wanted: Join) -> tuple[SeatGrant, bool]:
        """A seat for whoever may have it, or again for whom it was given to under this key.

        The second result says whether it was free before. Raises `InvalidOption`.
        """
        match, name = live.match, live.match.name
        token = seat_token(name, wanted.key)
        held = self._held(token) if wanted.key else None
        if wanted.seat is not None:
            self._check_key(held, wanted.seat)
        if held is not None:
            return _grant(live, held.seat, token), False
        if not match.free:
            raise InvalidOption(f"no seat of match {name} is free")
        seat = min(match.free) if wanted.seat is None else wanted.seat
        called = disarm(wanted.name[:LONGEST_NAME])  # others read it
        match.check_free(seat)
        self._store.sit(name, seat, called, digest(token))  # a seat that cannot be kept stays free
        match.take(seat, f"remote:{called}" if called else "")
        self._keep(live, digest(token), SeatKey(name, seat))
        note("join", name, seat)
        return _grant(live, seat, token), True

    def hand_over(self, live: Live, seat: int, wanted: HandOver) -> SeatGrant:
        """Give a seat a new token, after which the old one opens nothing."""
        given = seat_token(live.match.name, wanted.key)
        if wanted.key:
            self._check_key(self._held(given), seat)
        self._store.hand_over(live.match.name, seat, digest(given))
        self.forget(live)
        note("hand over", live.match.name, seat)
        return _grant(live, seat, given)

    def forget(self, live: Live) -> None:
        """Forget the tokens of a match; the store has them."""
        for token in live.tokens:
            self._kept.pop(token, None)
        live.tokens.clear()

    @staticmethod
    def _check_key(held: SeatKey | None, seat: int) -> None:
        """Raise `InvalidOption` if a client's key has another seat than this one."""
        if held is not None and held.seat != seat:
            raise InvalidOption(
                f"this key has taken seat {held.seat}; draw another key for seat {seat}"
            )

    def _held(self, token: str) -> SeatKey | None:
        hashed = digest(token)
        if (known := self._kept.get(hashed)) is not None:
            return known
        found = self._store.seat_of(hashed) if token else None
        if found is None:
            return None
        key = SeatKey(*found)
        if key.match in self._memory:  # elsewhere it may be handed over, and this not be known
            self._keep(self._memory.find(key.match), hashed, key)
        return key

    def _keep(self, live: Live, token: bytes, key: SeatKey) -> None:
        self._kept[token] = key
        live.tokens.add(token)


def is_invited(live: Live, invite: str) -> bool:
    """Whether a word opens the seats of a match."""
    return hmac.compare_digest(digest(invite), live.invite)


def may_watch(live: Live, word: str) -> bool:
    """Whether a word, or the match itself, lets anybody watch it."""
    told = hmac.compare_digest(digest(word), digest(watch_word(live.invite)))
    return live.match.plan.public or told or is_invited(live, word)


def _grant(live: Live, seat: int, token: str) -> SeatGrant:
    return SeatGrant(live.match.name, seat, live.match.game.players[seat], token)
