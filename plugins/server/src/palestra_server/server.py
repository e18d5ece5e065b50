"""All matches of one process: seats by token, the journal, time limits, notifications."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta
from palestra import EpisodeRecord, InvalidOption
from palestra.kernel.errors import PalestraError, cause, show
from palestra.kernel.registry import registry
from palestra.quoting import disarm
from palestra.records.versions import check_versions, versions_for, versions_of_names
from palestra.runner.running import PendingTurn

from palestra_server.allowed import EVERYWHERE, Allowed
from palestra_server.aside import Aside
from palestra_server.audit import kind_of, note
from palestra_server.capture import MOST_BYTES, Exchange, for_seat, with_exchanges
from palestra_server.clocks import Clocks
from palestra_server.match import Match
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
from palestra_server.peers import Elsewhere, Peers
from palestra_server.plans import MatchDefaults, plan_for
from palestra_server.refused import RequestRefused
from palestra_server.store import (
    MatchStore,
    OwnershipLost,
    StoreError,
    digest,
    seat_token,
    watch_word,
)
from palestra_server.table import WATCHER, meant, people_view, watching_view

log = logging.getLogger("palestra.server")
LONGEST_STEP = 60.0  # seconds that a request waits for rules


class SeatKey(NamedTuple):
    match: str
    seat: int


class Limits(msgspec.Struct, forbid_unknown_fields=True):
    """What one process takes on; beyond it requests are refused, with status 429 or 503.

    matches: played at once. sockets: open at once. moves: answers of one seat in a second.
    messages: of one socket in a second. per_address: connections from one address at once, this
    machine's own apart. idle_seconds: a match that nobody has touched for so long
    leaves memory; it comes back from the journal when somebody does.
    agent_seconds: for an answer of a local agent where the match sets no limit. agents: how many
    turns one agent that waits for others, such as a language model, is asked at once. programs: how
    many of the seats' programs run at once; 0 for one fewer than there are processors.
    """

    matches: Annotated[int, Meta(ge=1)] = 10_000
    sockets: Annotated[int, Meta(ge=1)] = 10_000
    moves: Annotated[int, Meta(ge=1)] = 20_000
    messages: Annotated[int, Meta(ge=1)] = 20_000
    per_address: Annotated[int, Meta(ge=1)] = 1000
    idle_seconds: Annotated[float, Meta(gt=0)] = 900.0
    agent_seconds: Annotated[float, Meta(gt=0)] = 600.0
    agents: Annotated[int, Meta(ge=1)] = 64
    programs: Annotated[int, Meta(ge=0)] = 0


@dataclass(slots=True)
class Live:
    """A match in memory, with data that belongs to the process rather than to the match."""

    match: Match
    invite: bytes
    at_once: bool  # whether local agents answer without a thread
    touched: float
    clocks: Clocks
    followers: dict[int, set[Callable[[], None]]] = field(default_factory=dict)
    asked: dict[int, asyncio.Task[None]] = field(default_factory=dict)
    stepping: asyncio.Task[None] | None = None  # the step that rules compute in a thread
    captured: dict[int, list[Exchange]] = field(default_factory=dict)  # since a seat's last answer
    rematch: asyncio.Task[NewMatch] | None = None
    next: str = ""  # the match that followed it
    tokens: set[bytes] = field(default_factory=set)  # hashes of those in memory
    spent: dict[int, tuple[int, int]] = field(default_factory=dict)  # by seat: second, answers


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
        self._other_versions = other_versions
        self._aside = Aside(self.limits.programs, self.limits.agents)
        self.metrics = Metrics()
        self._live: dict[str, Live] = {}
        self._seats: dict[bytes, SeatKey] = {}
        self._changed: set[str] = set()
        self._flushed: asyncio.Future[None] | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self._beats: asyncio.Task[None] | None = None
        self.ready = False  # whether matches are restored

    async def start(self) -> None:
        """Restore every match that is not over; with peers, those whose server is dead."""
        if self.peers is None:
            for name in self.store.unfinished():
                self._restore(name)
        else:
            self.peers.beat()
            self._beats = asyncio.create_task(self._beat(self.peers))
        self._sweeper = asyncio.create_task(self._sweep())
        self.ready = True

    async def stop(self) -> None:
        self.ready = False
        for task in (self._sweeper, self._beats):
            if task is not None:
                task.cancel()
        for live in self._live.values():
            self._halt(live)
        self._aside.close()
        self.store.flush()
        if self.peers is not None:
            self.peers.leave()
            await self.peers.close()
        self.store.close()

    @property
    def full(self) -> str:
        """Why no further match can be opened; empty if one can."""
        if len(self._live) < self.limits.matches:
            return ""
        return f"{self.limits.matches} matches are played already; try later"

    def counts(self) -> Counts:
        """What has happened, and what is there now."""
        lives = [live.match for live in self._live.values()]
        now = {
            "live": len(lives),
            "seats": sum(len(match.open_seats) - len(match.free) for match in lives),
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
        self._live[name] = live = self._keep(match, digest(invite))
        self.metrics.matches += 1
        note("create", name, env=plan.env)
        self._go_on(live)
        await self._committed()
        return NewMatch(name, invite, watch_word(digest(invite)), tuple(sorted(match.open_seats)))

    def _begin(self, name: str, plan: MatchPlan) -> Match:
        plan = msgspec.structs.replace(plan, versions=versions_of(plan))
        return Match(name, plan, self.store.add)

    async def again(self, token: str, allowed: bool) -> Rematch:
        """The seat that a token opens in the next match of the same plan, with another seed.

        Whoever asks first opens it, if they are `allowed` to; the others then find it, also after
        a restart. Raises `RequestRefused` while the match is played.
        """
        key = self.seat(token)
        live = self._find(key.match)
        if not live.match.over:
            raise RequestRefused(f"match {key.match} is still played", 409)
        opened = None if live.next else await self._next_of(live, allowed)
        called = live.match.called(key.seat)
        name = "" if called == str(key.seat) else called
        wanted = Join(key.seat, name, key=f"again {token}")
        seated = await self._take_seat(self._find(live.next), wanted)
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
            plan = msgspec.structs.replace(live.match.plan, seed=secrets.randbits(31))
            live.rematch = asyncio.create_task(self._open(plan))
        try:
            opened = await asyncio.shield(live.rematch)
        except PalestraError:
            live.rematch = None
            raise
        if not live.next:
            live.next = opened.match
            self.store.follow_up(live.match.name, opened.match)
        return opened if first else None

    async def join(self, name: str, wanted: Join) -> SeatGrant:
        """Take a free seat; its token is stored as a hash, and found again by the client's key."""
        live = self._find(name)
        match = live.match
        invited = hmac.compare_digest(digest(wanted.invite), live.invite)
        if not match.plan.public and not invited:
            raise RequestRefused(f"match {name} is by invitation; pass its invite")
        return await self._take_seat(live, wanted)

    async def _take_seat(self, live: Live, wanted: Join) -> SeatGrant:
        """Give a seat to whoever may have it, or again to whom it was given under this key."""
        match, name = live.match, live.match.name
        token = seat_token(name, wanted.key)
        held = self._held(token) if wanted.key else None
        if held is None:
            if not match.free:
                raise InvalidOption(f"no seat of match {name} is free")
            seat = min(match.free) if wanted.seat is None else wanted.seat
            called = disarm(wanted.name[:200])  # others read it
            match.take(seat, f"remote:{called}" if called else "")
            self.store.sit(name, seat, called, digest(token))
            held = SeatKey(name, seat)
            self._remember(digest(token), held)
            self.metrics.joins += 1
            note("join", name, seat)
            self._go_on(live)
        elif wanted.seat not in (None, held.seat):
            raise InvalidOption(
                f"this key has taken seat {held.seat}; draw another key for seat {wanted.seat}"
            )
        await self._committed()
        return SeatGrant(name, held.seat, match.game.players[held.seat], token)

    def seat(self, token: str) -> SeatKey:
        """The seat that a token opens; raises `RequestRefused`."""
        key = self._held(token)
        if key is None:
            raise RequestRefused("this token opens no seat; join a match first", 401)
        return key

    def _held(self, token: str) -> SeatKey | None:
        """The seat that was given to a token; None if there is none."""
        hashed = digest(token)
        if (known := self._seats.get(hashed)) is not None:
            return known
        found = self.store.seat_of(hashed) if token else None
        if found is None:
            return None
        key = SeatKey(*found)
        if key.match in self._live:  # elsewhere it may be handed over, and this not be known
            self._remember(hashed, key)
        return key

    def _remember(self, token: bytes, key: SeatKey) -> None:
        self._seats[token] = key
        self._live[key.match].tokens.add(token)

    def _forget(self, live: Live) -> None:
        """Forget the tokens of a match; the store has them."""
        for token in live.tokens:
            self._seats.pop(token, None)
        live.tokens.clear()

    def listed(self) -> list[dict[str, Any]]:
        """Public matches that are not over."""
        return [
            {
                "match": name,
                "env": live.match.plan.env,
                "status": live.match.status,
                "seats": len(live.match.plan.seats),
                "free": sorted(live.match.free),
                "turn": live.match.episode.steps_played,
            }
            for name, live in self._live.items()
            if live.match.plan.public and not live.match.over
        ]

    # Answers

    async def move(self, key: SeatKey, move: Move) -> bool:
        """Take an answer; False if it is late or a duplicate. Returns once it is in the journal."""
        await self.settled(key)
        counted = self.take(key, move)
        await self._committed()
        return counted

    async def settled(self, key: SeatKey) -> None:
        """Wait until the rules have computed the step of a seat's match, or for `LONGEST_STEP`."""
        until = asyncio.get_running_loop().time() + LONGEST_STEP
        while (task := self._find(key.match).stepping) is not None:
            left = until - asyncio.get_running_loop().time()
            if left <= 0 or not (await asyncio.wait([task], timeout=left))[0]:
                return

    def take(self, key: SeatKey, move: Move) -> bool:
        """Take an answer without waiting for the journal; followers are notified after it."""
        match = self._played_by(key)
        self._count(self._find(key.match), key.seat)
        number = match.answers[key.seat] if move.number is None else move.number
        if move.action is None and move.text is None:
            raise InvalidOption("a move has an action's number or a text")
        return self._answer(
            key,
            Answer(
                seat=key.seat,
                number=number,
                action=move.action,
                text=move.text if move.action is None else None,
                thought=move.thought,
                model=move.model,
                logprob=move.logprob,
                usage=move.usage,
            ),
        )

    def _count(self, live: Live, seat: int) -> None:
        """Raise `RequestRefused` for a seat that answers too often."""
        second = int(time.monotonic())
        before, count = live.spent.get(seat, (second, 0))
        count = count + 1 if before == second else 1
        if count > self.limits.moves:
            self.metrics.throttled += 1
            raise RequestRefused(f"a seat may answer {self.limits.moves} times a second", 429)
        live.spent[seat] = second, count

    def refuse(self, error: Exception) -> None:
        """Count a request that was refused, and write it down."""
        self.metrics.refused += 1
        note("refuse", reason=f"{type(error).__name__}: {error}"[:300])

    async def resign(self, key: SeatKey) -> None:
        await self.settled(key)
        number = self._played_by(key).answers[key.seat]
        self._answer(key, Answer(key.seat, number, missed="resigned", resigned=True))
        await self._committed()

    async def reclaim(self, key: SeatKey) -> None:
        """Take a seat back from its substitute; raises `InvalidOption` after resigning."""
        _check_seated(key)
        await self.settled(key)
        match = self._find(key.match).match
        match.leaving.check_reclaim(key.seat)
        self._answer(key, Answer(key.seat, match.answers[key.seat], reclaimed=True))
        await self._committed()

    async def hand_over(self, token: str, wanted: HandOver) -> SeatGrant:
        """Give a seat to another client: a new token, after which the old one opens nothing."""
        key = self.seat(token)
        await self.settled(key)
        live = self._find(key.match)
        given = seat_token(key.match, wanted.key)
        self.store.hand_over(*key, digest(given))
        self._forget(live)
        note("hand over", *key)
        if wanted.name and not live.match.over:
            called = f"remote:{disarm(wanted.name[:200])}"
            self._answer(key, Answer(key.seat, live.match.answers[key.seat], called=called))
        await self._committed()
        return SeatGrant(*key, live.match.game.players[key.seat], given)

    def _played_by(self, key: SeatKey) -> Match:
        """The match of a seat that its client may answer for; raises `RequestRefused`."""
        _check_seated(key)
        match = self._find(key.match).match
        if why := match.leaving.refusal(key.seat):
            raise RequestRefused(why, 409)
        return match

    def check_capture(self, key: SeatKey) -> None:
        """Raise `RequestRefused` if a seat can keep no more exchanges with a language model."""
        live = self._find(key.match)
        if live.match.over:
            raise RequestRefused(f"match {key.match} is over")
        if sum(e.bytes for e in live.captured.get(key.seat, ())) > MOST_BYTES:
            raise RequestRefused(
                f"over {MOST_BYTES} bytes were said since the seat's last answer; answer first", 429
            )

    def capture(self, key: SeatKey, exchange: Exchange) -> None:
        """Keep a seat's exchange with a language model, to be recorded with its next answer."""
        live = self._find(key.match)
        if not live.match.over:
            live.captured.setdefault(key.seat, []).append(exchange)
            note("capture", *key)

    def _answer(self, key: SeatKey, answer: Answer) -> bool:
        live = self._find(key.match)
        captured = live.captured.get(key.seat, ())
        counted = live.match.accept(with_exchanges(answer, captured))
        if counted:
            live.captured.pop(key.seat, None)
            self.metrics.moves += 1
            note(kind_of(answer), key.match, key.seat)
            if live.match.leaving.departures:
                live.at_once = self._is_instant(live.match)
                if answer.missed:  # who is too slow keeps no substitute from answering
                    live.asked.pop(key.seat, None)
            self._step(live)
        return counted

    def _step(self, live: Live) -> None:
        """Play a step whose answers are complete, in a thread if its rules run programs; go on."""
        match = live.match
        if match.is_answered and match.game.runs_programs:
            match.stepping = True
            live.stepping = asyncio.create_task(self._step_aside(live))
            live.clocks.stop()  # nobody's time runs while the rules compute
            self._schedule_flush()
            return
        if match.is_answered:
            match.play()
        self._go_on(live)

    async def _step_aside(self, live: Live) -> None:
        await self._aside.rules.run(live.match.play)
        live.match.stepping, live.stepping = False, None
        if not live.match.lost:
            self._go_on(live)

    def _go_on(self, live: Live) -> None:
        """Let local agents answer, set the clocks, and notify followers after the journal."""
        match = live.match
        live.touched = asyncio.get_running_loop().time()
        if match.stepping:
            return
        if live.at_once:
            match.ask_at_once()
        else:
            for pending in match.agents_due():
                seat = pending.turn.seat
                if seat not in live.asked:
                    live.asked[seat] = asyncio.create_task(self._ask(live, pending))
        self._set_clocks(live)
        if match.over:
            self._finish(live)
        self._changed.add(match.name)
        self._schedule_flush()

    async def _ask(self, live: Live, pending: PendingTurn) -> None:
        """Ask a local agent in a thread; an answer after its time limit is dropped."""
        seat = pending.turn.seat
        threads = self._aside.agent(live.match.agent_of(seat))
        try:
            answer = await threads.run(live.match.ask, pending)
        finally:
            if live.asked.get(seat) is asyncio.current_task():
                del live.asked[seat]
        if live.match.lost:
            return
        if answer is not None and not live.match.over:
            live.match.accept(answer)
            self.metrics.moves += 1
            note("move", live.match.name, seat)
        self._step(live)

    def _set_clocks(self, live: Live) -> None:
        match, limit = live.match, self.limits.agent_seconds
        due = () if match.over else match.due()

        def seconds(seat: int) -> float | None:
            return match.plan.move_seconds or (None if seat in match.remote else limit)

        live.clocks.set({seat: match.answers[seat] for seat in due}, seconds)

    def _time_is_up(self, match: Match, seat: int, number: int) -> None:
        seconds = match.plan.move_seconds or self.limits.agent_seconds
        why = f"no answer came within {seconds:g} s"
        note("late", match.name, seat)
        self.metrics.late += 1
        self._answer(SeatKey(match.name, seat), Answer(seat, number, missed=why))

    # What is seen

    def match(self, name: str) -> Match:
        """A match by name; raises `RequestRefused`."""
        return self._find(name).match

    def look(
        self, key: SeatKey, since: int = 0, show: Iterable[str] = (), *, with_rules: bool = False
    ) -> SeatView:
        """What the seat may know now, from a position of its transcript on."""
        live, shown = self._find(key.match), tuple(show)
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
        match = self._played_by(key)
        if move.text is None or (move.number is not None and move.number < match.answers[key.seat]):
            return await self.move(key, move)
        text = meant(match, key.seat, move.text)
        return await self.move(key, msgspec.structs.replace(move, text=text))

    def watcher(self, name: str, word: str) -> SeatKey:
        """A spectator; raises `RequestRefused` if the match is not public and the word is wrong."""
        live = self._find(name)
        invited = hmac.compare_digest(digest(word), live.invite)
        told = hmac.compare_digest(digest(word), digest(watch_word(live.invite)))
        if not (live.match.plan.public or invited or told):
            raise RequestRefused(f"match {name} is by invitation; ask for a link to watch it")
        return SeatKey(name, WATCHER)

    def follow(self, key: SeatKey, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every change of the seat's match; the result stops the calls."""
        followers = self._find(key.match).followers.setdefault(key.seat, set())
        followers.add(changed)
        return lambda: followers.discard(changed)

    async def wait(self, key: SeatKey, seconds: float) -> None:
        """Return when it is the seat's turn, its match is over, or `seconds` have passed."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()

        match = self._find(key.match).match

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
        return for_seat(self._find(key.match).match.record(), key.seat)

    # Memory and journal

    def _find(self, name: str) -> Live:
        live = self._live.get(name)
        if live is None and (self.peers is None or self.peers.take(name)):
            live = self._load(name)
        if live is None:
            raise RequestRefused(f"this server has no match {show(name)}", 404)
        return live

    def _restore(self, name: str) -> Live | None:
        """Restore a match if it can be; otherwise it stays as it is, and the others go on."""
        try:
            return self._load(name)
        except RequestRefused as error:
            log.error("match=%s is left out: %s", name, error)
            return None

    def _load(self, name: str) -> Live | None:
        """Restore a match from the journal; raises `RequestRefused` if it cannot be."""
        try:
            kept = self.store.load(name)
            if kept is None:
                return None
            check_versions(
                f"match {name}",
                kept.plan.versions,
                versions_of(kept.plan),
                accept=self._other_versions,
            )
            match = Match(name, kept.plan)
            for seat, called in kept.seats.items():
                match.take(seat, f"remote:{called}" if called else "")
            for answer in kept.answers:
                match.answer(answer)
        except StoreError:
            raise
        except Exception as error:  # damaged, or of an environment that is not installed
            raise RequestRefused(
                f"match {name} cannot be restored ({cause(error)}); restore a copy of the store, "
                "or install what it was played with",
                409,
            ) from error
        match.keep_journal(self.store.add)
        self._live[name] = live = self._keep(match, kept.invite)
        live.next = kept.next
        if kept.status == "open":
            self._go_on(live)
        return live

    def _keep(self, match: Match, invite: bytes) -> Live:
        clocks = Clocks(partial(self._time_is_up, match))
        now = asyncio.get_running_loop().time()
        return Live(match, invite, self._is_instant(match), now, clocks)

    def _is_instant(self, match: Match) -> bool:
        """Whether local agents are asked on the event loop, and the rules play their answers."""
        return match.answers_at_once and not match.game.runs_programs

    def _halt(self, live: Live) -> None:
        """Stop everything that goes on for a match here."""
        live.clocks.stop()
        for task in (*live.asked.values(), live.stepping):
            if task is not None:
                task.cancel()
        live.match.close()

    def _finish(self, live: Live) -> None:
        """Write down a match that is over; its moves are in the journal already."""
        try:
            record = live.match.record()
        except Exception as error:  # the match stays as its journal has it
            log.exception("match=%s has no record: %s", live.match.name, cause(error))
            return
        self.store.flush()
        status = "failed" if live.match.error else "over"
        self.store.finish(live.match.name, status, msgspec.json.encode(record))
        note(status, live.match.name)

    def _schedule_flush(self) -> None:
        if self._flushed is None or self._flushed.done():
            loop = asyncio.get_running_loop()
            self._flushed = loop.create_future()
            loop.call_soon(self._flush, self._flushed)

    def _flush(self, flushed: asyncio.Future[None]) -> None:
        """Write the journal, then notify followers: nobody is told of a move that could be lost."""
        overtaken: OwnershipLost | None = None
        started = time.perf_counter()
        try:
            self.store.flush()
            self.metrics.wrote(time.perf_counter() - started)
        except OwnershipLost as error:
            overtaken = error
            for name in error.matches:
                self._give_up(name)
        except PalestraError as error:
            log.error("%s", error)
            flushed.set_exception(error)
            flushed.exception()  # waited for or not, it is logged
            asyncio.get_running_loop().call_later(1.0, self._schedule_flush)
            return
        changed, self._changed = self._changed, set()
        if overtaken is None:
            flushed.set_result(None)
        else:
            flushed.set_exception(overtaken)
            flushed.exception()
        for name in changed:
            live = self._live.get(name)
            for followers in list(live.followers.values()) if live else ():
                for call in list(followers):
                    call()

    async def _committed(self) -> None:
        if self.store.pending or self._changed:
            self._schedule_flush()
            assert self._flushed is not None
            await asyncio.shield(self._flushed)

    def _give_up(self, name: str) -> None:
        """Forget a match that another server plays now, and tell who follows it here."""
        live = self._live.pop(name, None)
        if live is None:
            return
        self._forget(live)
        log.warning("match=%s is played by another server now", name)
        live.match.lost = True
        self._halt(live)
        for followers in list(live.followers.values()):
            for call in list(followers):
                call()

    async def _beat(self, peers: Peers) -> None:
        """Say that this server lives, and take the matches of dead ones over."""
        dead = ["at the start"]
        while True:
            if dead:
                self._adopt(peers)
            await asyncio.sleep(peers.seconds)
            try:
                if peers.buried():
                    for name in list(self._live):
                        self._give_up(name)
                dead = peers.beat()
            except PalestraError as error:
                log.error("%s", error)

    def _adopt(self, peers: Peers) -> None:
        for name in peers.orphans():
            with contextlib.suppress(Elsewhere):
                if peers.take(name) and self._restore(name) is not None:
                    note("adopt", name)

    def drop(self, name: str) -> None:
        """Take a match that is over out of memory; it comes back when somebody asks for it."""
        live = self._live.get(name)
        if live is None or not live.match.over or live.asked or any(live.followers.values()):
            return
        self._evict(live)

    def _evict(self, live: Live) -> None:
        live.match.close()
        self._forget(live)
        del self._live[live.match.name]

    async def _sweep(self) -> None:
        """Drop idle matches from memory periodically."""
        while True:
            await asyncio.sleep(min(30.0, self.limits.idle_seconds / 4))
            now = asyncio.get_running_loop().time()
            for live in list(self._live.values()):
                busy = live.asked or live.clocks or live.captured or live.stepping
                watched = busy or any(live.followers.values())
                idle = now - live.touched > self.limits.idle_seconds
                if idle and not watched and not self.store.pending:
                    self._evict(live)
                    self.metrics.evicted += 1


def versions_of(plan: MatchPlan) -> dict[str, str]:
    """Versions of what a match's environment and agents are defined by."""
    env = registry().environment(plan.env).entry_point
    agents = [*plan.seats, *([plan.substitute] if plan.substitute else [])]
    return {**versions_for(env), **versions_of_names(agents)}


def _check_seated(key: SeatKey) -> None:
    if key.seat == WATCHER:
        raise RequestRefused("a spectator has no seat; join the match to play")
