"""The requests of clients: matches, seats, answers and what is seen.

What lies behind: `Memory` has the matches, `Seats` their tokens, `Play` takes answers, `Journal`
writes them.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec
from palestra import EpisodeRecord, InvalidOption
from palestra.quoting import disarm

from palestra_server.allowed import EVERYWHERE, Allowed
from palestra_server.aside import Aside, Threads
from palestra_server.audit import note
from palestra_server.capture import MOST_BYTES, Exchange, for_seat
from palestra_server.journal import Journal
from palestra_server.limits import Limits
from palestra_server.live import Live
from palestra_server.match import Match
from palestra_server.memory import Memory, versions_of
from palestra_server.messages import (
    Answer,
    Create,
    HandOver,
    Join,
    MatchPlan,
    Move,
    NewMatch,
    Rematch,
    SeatGrant,
    SeatView,
)
from palestra_server.metrics import HELP, Counts, Metrics
from palestra_server.peers import Peers
from palestra_server.plans import MatchDefaults, draw_seed, plan_for
from palestra_server.play import Play
from palestra_server.refused import RequestRefused
from palestra_server.seats import LONGEST_NAME, SeatKey, Seats, is_invited, may_watch
from palestra_server.store import MatchStore, digest, watch_word
from palestra_server.table import WATCHER, meant, people_view, watching_view


class MatchServer:
    """Creates matches, seats clients, takes answers and notifies seats of changes.

    Every method that changes something is a coroutine that returns once the journal is written.
    """

    def __init__(
        self,
        store: MatchStore,
        limits: Limits | None = None,
        peers: Peers | None = None,
        *,
        allowed: Allowed = EVERYWHERE,
        other_versions: bool = False,
        usual: MatchDefaults | None = None,
    ) -> None:
        """allowed: what clients may name. other_versions: whether matches that were opened with
        other versions are resumed. usual: what matches get whose creator does not say.
        """
        self._usual = usual or MatchDefaults()
        self.allowed = allowed
        self.store, self.limits, self.peers = store, limits or Limits(), peers
        self.metrics = Metrics()
        self.ready = False  # whether matches are restored
        self._aside = Aside(self.limits.programs, self.limits.agents)
        self._memory = Memory(
            store,
            self.limits,
            self.metrics,
            peers,
            forget=lambda live: self._seats.forget(live),
            other_versions=other_versions,
        )
        self._seats = Seats(store, self._memory)
        self._journal = Journal(store, self.metrics, self._memory.give_up)
        self._play = Play(store, self._journal, self._aside, self.limits, self.metrics)

    async def start(self) -> None:
        """Restore every match that is not over; with peers, those whose server is dead."""
        self._memory.start(self._play)
        self.ready = True

    async def stop(self) -> None:
        """Close all matches and the store; what was acknowledged is on the disk."""
        self.ready = False
        self._memory.stop()
        self._aside.close()
        self.store.flush()
        if self.peers is not None:
            self.peers.leave()
            await self.peers.close()
        self.store.close()

    @property
    def full(self) -> str:
        """Why no further match can be opened; empty if one can."""
        if len(self._memory) < self.limits.matches:
            return ""
        return f"{self.limits.matches} matches are played already; try later"

    @property
    def pages(self) -> Threads:
        """Where pages are written that show a record."""
        return self._aside.pages

    def counts(self) -> Counts:
        """What has happened, and what is there now."""
        matches = [live.match for live in self._memory.matches]
        now = {
            "live": len(matches),
            "seats": sum(len(match.open_seats) - len(match.free) for match in matches),
        }
        values = {name: now.get(name, getattr(self.metrics, name, 0)) for name in HELP}
        return Counts(values, self.metrics.buckets, self.metrics.waited)

    # Matches and seats

    async def create(self, wanted: Create) -> NewMatch:
        """Open a match for a client.

        Raises `RequestRefused` for what clients may not name, and as `create_own` does.
        """
        if self.full:
            self.metrics.throttled += 1
            raise RequestRefused(self.full, 503)
        wanted = self.limits.bounded(wanted)
        await self._aside.creation.run(self.allowed.check, wanted)  # it may import the game
        return await self.create_own(wanted)

    async def create_own(self, wanted: Create) -> NewMatch:
        """Open a match for the operator, who may name anything.

        Raises `InvalidOption` or `UnknownName` for what cannot be played.
        """
        return await self._open(await self._aside.creation.run(plan_for, wanted, self._usual))

    async def _open(self, plan: MatchPlan) -> NewMatch:
        name, invite = secrets.token_hex(8), secrets.token_urlsafe(16)
        # in a thread: a game that is played here for the first time may compile for seconds
        match = await self._aside.creation.run(self._begin, name, plan)
        plan = match.plan
        self.store.create(name, plan, digest(invite), self.peers.name if self.peers else "")
        live = self._memory.add(match, digest(invite))
        self.metrics.matches += 1
        note("create", name, env=plan.env)
        self._play.go_on(live)
        await self._journal.committed()
        return NewMatch(name, invite, watch_word(digest(invite)), tuple(sorted(match.open_seats)))

    def _begin(self, name: str, plan: MatchPlan) -> Match:
        plan = msgspec.structs.replace(plan, versions=versions_of(plan))
        match = Match(name, plan, self.store.add)
        with suppress(Exception):  # whoever looks hears of it
            match.view(0, show=("legal_texts",))  # the first may take rules seconds
            if match.game.runs_programs:
                match.look_ahead()
        return match

    async def again(self, token: str, allowed: bool) -> Rematch:
        """The seat that a token opens in the next match of the same plan, with another seed.

        Whoever asks first opens it, if they are `allowed` to; the others then find it, also after
        a restart. Raises `RequestRefused` while the match is played.
        """
        key = self.seat(token)
        live = self._memory.find(key.match)
        if not live.match.over:
            raise RequestRefused(f"match {key.match} is still played", 409)
        opened = None if live.next else await self._next_of(live, allowed)
        called = live.match.called(key.seat)
        name = "" if called == str(key.seat) else called
        wanted = Join(key.seat, name, key=f"again {token}")
        seated = await self._take_seat(self._memory.find(live.next), wanted)
        shown = (opened.invite, opened.watch) if opened else ("", "")
        return Rematch(seated.match, seated.seat, seated.player, seated.token, *shown)

    async def _next_of(self, live: Live, allowed: bool) -> NewMatch | None:
        """Open the match after one that is over; None if another has just asked for it."""
        first = live.rematch is None
        if live.rematch is None:
            if not allowed:
                raise RequestRefused(
                    "opening a match takes the server's token; ask who opened this one"
                )
            plan = msgspec.structs.replace(live.match.plan, seed=draw_seed(), seeded=False)
            live.rematch = asyncio.create_task(self._open(plan))
        try:
            opened = await asyncio.shield(live.rematch)
        except Exception:  # the next who asks tries again
            live.rematch = None
            raise
        if not live.next:
            self.store.follow_up(live.match.name, opened.match)
            live.next = opened.match
        return opened if first else None

    async def join(self, name: str, wanted: Join) -> SeatGrant:
        """Take a free seat; its token is stored as a hash, and found again by the client's key."""
        live = self._memory.find(name)
        if not (live.match.plan.public or is_invited(live, wanted.invite)):
            raise RequestRefused(f"match {name} is by invitation; pass its invite")
        return await self._take_seat(live, wanted)

    async def _take_seat(self, live: Live, wanted: Join) -> SeatGrant:
        granted, is_new = self._seats.take(live, wanted)
        if is_new:
            self.metrics.joins += 1
            self._play.go_on(live)
        await self._journal.committed()
        return granted

    async def hand_over(self, token: str, wanted: HandOver) -> SeatGrant:
        """Give a seat to another client: a new token, after which the old one opens nothing."""
        key = self.seat(token)
        await self.settled(key)
        live = self._memory.find(key.match)
        granted = self._seats.hand_over(live, key.seat, wanted)
        if wanted.name and not live.match.over:
            called = f"remote:{disarm(wanted.name[:LONGEST_NAME])}"
            self._play.answer(live, Answer(key.seat, live.match.answers[key.seat], called=called))
        await self._journal.committed()
        return granted

    def seat(self, token: str) -> SeatKey:
        """The seat that a token opens; raises `RequestRefused`."""
        return self._seats.of(token)

    def listed(self) -> list[dict[str, Any]]:
        """Public matches that are not over."""
        return [
            {
                "match": live.match.name,
                "env": live.match.plan.env,
                "status": live.match.status,
                "seats": len(live.match.plan.seats),
                "free": sorted(live.match.free),
                "turn": live.match.episode.steps_played,
                "seeded": live.match.plan.seeded,
            }
            for live in self._memory.matches
            if live.match.plan.public and not live.match.over
        ]

    # Answers

    async def move(self, key: SeatKey, move: Move) -> bool:
        """Take an answer; False if it is late or a duplicate. Returns once it is in the journal."""
        await self.settled(key)
        counted = self.take(key, move)
        await self._journal.committed()
        return counted

    async def settled(self, key: SeatKey) -> None:
        """Wait until the rules have computed the step of a seat's match, for a minute at most."""
        await self._play.settled(self._memory.find(key.match))

    def unwritten(self, key: SeatKey, then: Callable[[], None] | None = None) -> bool:
        """Whether a seat would be shown what could still be lost; if so, `then` is called after."""
        return self._journal.unwritten(self._memory.find(key.match), then)

    async def written(self, key: SeatKey) -> None:
        """Wait until the journal has what a seat would be shown; raises what keeps it from that."""
        if self.unwritten(key):
            await self._journal.committed()

    def take(self, key: SeatKey, move: Move) -> bool:
        """Take an answer without waiting for the journal; followers are notified after it."""
        live = self._played_by(key)
        self._play.count(live, key.seat)
        if move.action is None and move.text is None:
            raise InvalidOption("a move has an action's number or a text")
        return self._play.answer(
            live,
            Answer(
                seat=key.seat,
                number=live.match.answers[key.seat] if move.number is None else move.number,
                action=move.action,
                text=move.text if move.action is None else None,
                thought=move.thought,
                model=move.model,
                logprob=move.logprob,
                usage=move.usage,
            ),
        )

    def refuse(self, error: Exception) -> None:
        """Count a request that was refused, and write it down."""
        self.metrics.refused += 1
        note("refuse", reason=f"{type(error).__name__}: {error}"[:300])

    async def resign(self, key: SeatKey) -> None:
        """Give up for the player of a seat, who does not come back."""
        await self.settled(key)
        live = self._played_by(key)
        number = live.match.answers[key.seat]
        self._play.answer(live, Answer(key.seat, number, missed="resigned", resigned=True))
        await self._journal.committed()

    async def reclaim(self, key: SeatKey) -> None:
        """Take a seat back from its substitute; raises `InvalidOption` after resigning."""
        key.check_seated()
        await self.settled(key)
        live = self._memory.find(key.match)
        live.match.leaving.check_reclaim(key.seat)
        if live.match.awaits(key.seat) and live.match.leaving.came_back(key.seat):
            raise RequestRefused(
                f"seat {key.seat} was reclaimed in this turn already; reclaim it again once its "
                "substitute has moved",
                409,
            )
        self._play.answer(live, Answer(key.seat, live.match.answers[key.seat], reclaimed=True))
        await self._journal.committed()

    def _played_by(self, key: SeatKey) -> Live:
        """The match of a seat that its client may answer for; raises `RequestRefused`."""
        key.check_seated()
        live = self._memory.find(key.match)
        if why := live.match.leaving.refusal(key.seat):
            raise RequestRefused(why, 409)
        return live

    def check_capture(self, key: SeatKey) -> None:
        """Raise `RequestRefused` if a seat can keep no more exchanges with a language model."""
        live = self._memory.find(key.match)
        if live.match.over:
            raise RequestRefused(f"match {key.match} is over")
        if live.captured_bytes.get(key.seat, 0) > MOST_BYTES:
            raise RequestRefused(
                f"over {MOST_BYTES} bytes were said since the seat's last answer; answer first", 429
            )

    def capture(self, key: SeatKey, exchange: Exchange) -> None:
        """Keep a seat's exchange with a language model, to be recorded with its next answer.

        Raises `RequestRefused` if others that were asked at the same time have filled its room.
        """
        live = self._memory.find(key.match)
        if not live.match.over:
            self.check_capture(key)
            kept = live.captured_bytes.get(key.seat, 0)
            live.captured_bytes[key.seat] = kept + exchange.bytes
            live.captured.setdefault(key.seat, []).append(exchange)
            note("capture", *key)

    # What is seen

    def match(self, name: str) -> Match:
        """A match by name; raises `RequestRefused`."""
        return self._memory.find(name).match

    def look(
        self, key: SeatKey, since: int = 0, show: Iterable[str] = (), *, with_rules: bool = False
    ) -> SeatView:
        """What the seat may know now, from a position of its transcript on."""
        live, shown = self._memory.find(key.match), tuple(show)
        if live.match.stepping:
            return live.match.brief_view(key.seat, since)
        if key.seat == WATCHER:
            return self._timed(live, watching_view(live.match, since, shown))
        view = live.match.view(key.seat, since, shown, with_rules=with_rules)
        people_view(live.match, view, shown)
        return self._timed(live, view)

    def _timed(self, live: Live, view: SeatView) -> SeatView:
        """A view with what is left of the seat's time, and of others' who are known to think."""
        for seat, left in live.clocks.left().items():
            if seat == view.seat:
                view.seconds_left = left
            if view.table is not None and view.table.seats[seat].acting:
                view.table.seats[seat].seconds_left = left
        return view

    async def try_move(self, key: SeatKey, move: Move) -> bool:
        """Take a text that may be short; one that is not legal is refused and does not count.

        Raises `InvalidAction` with the reason.
        """
        await self.settled(key)
        match = self._played_by(key).match
        if move.text is None or (move.number is not None and move.number < match.answers[key.seat]):
            return await self.move(key, move)
        text = meant(match, key.seat, move.text)
        return await self.move(key, msgspec.structs.replace(move, text=text))

    def watcher(self, name: str, word: str) -> SeatKey:
        """A spectator; raises `RequestRefused` if the match is not public and the word is wrong."""
        live = self._memory.find(name)
        if not may_watch(live, word):
            raise RequestRefused(f"match {name} is by invitation; ask for a link to watch it")
        return SeatKey(name, WATCHER)

    def follow(self, key: SeatKey, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every change of the seat's match; the result stops the calls."""
        return self._memory.find(key.match).follow(key.seat, changed)

    async def wait(self, key: SeatKey, seconds: float) -> None:
        """Return when it is the seat's turn, its match is over, or `seconds` have passed."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()

        match = self._memory.find(key.match).match

        def changed() -> None:
            if (match.lost or match.over or match.asks(key.seat)) and not turn.done():
                turn.set_result(None)

        leave = self.follow(key, changed)
        try:
            changed()
            await asyncio.wait_for(asyncio.shield(turn), seconds)
        except TimeoutError:
            pass
        finally:
            leave()

    def record(self, key: SeatKey) -> EpisodeRecord:
        """The whole record, for whoever had a seat or may watch, once the match is over.

        Other seats' thoughts, and what they asked their language models, are left out.
        """
        return for_seat(self._memory.find(key.match).match.record(), key.seat)

    def drop(self, name: str) -> None:
        """Take a match that is over out of memory; it comes back when somebody asks for it."""
        self._memory.drop(name)
