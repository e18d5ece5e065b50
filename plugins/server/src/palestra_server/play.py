"""Takes answers, plays steps and asks local agents, with the clocks of all seats."""

from __future__ import annotations

import asyncio
import logging
import time

import msgspec
from palestra.kernel.errors import cause
from palestra.runner.running import PendingTurn

from palestra_server.aside import Aside
from palestra_server.audit import keep, kind_of
from palestra_server.capture import with_exchanges
from palestra_server.clocks import Clocks
from palestra_server.journal import Journal
from palestra_server.limits import Limits
from palestra_server.live import Live
from palestra_server.match import Match
from palestra_server.messages import Answer
from palestra_server.metrics import Metrics
from palestra_server.refused import RequestRefused
from palestra_server.store import MatchStore

log = logging.getLogger("palestra.server")
SLICE = 0.02  # seconds that the scripted agents of one match keep everybody else waiting
LONG = 500  # steps; the records of longer matches are written in a thread
LONGEST_STEP = 60.0  # seconds that a request waits for rules


class Play:
    """Every answer goes through here, whoever gave it: a client, a local agent or a clock."""

    def __init__(
        self, store: MatchStore, journal: Journal, aside: Aside, limits: Limits, metrics: Metrics
    ) -> None:
        self._store, self._journal, self._aside = store, journal, aside
        self._limits, self._metrics = limits, metrics
        self._long: dict[Live, None] = {}  # matches whose scripted agents play on, in order

    def begin(self, match: Match, invite: bytes) -> Live:
        """A match in memory, where nothing goes on yet."""
        clocks = Clocks(lambda seat, _: self._time_is_up(live, seat))
        live = Live(match, invite, clocks, _is_instant(match), time.monotonic())
        return live

    async def settled(self, live: Live) -> None:
        """Wait until the rules have computed the step of a match, or for `LONGEST_STEP`."""
        until = asyncio.get_running_loop().time() + LONGEST_STEP
        while (task := live.stepping) is not None:
            left = until - asyncio.get_running_loop().time()
            if left <= 0 or not (await asyncio.wait([task], timeout=left))[0]:
                return

    def count(self, live: Live, seat: int) -> None:
        """Raise `RequestRefused` for a seat that answers too often."""
        second = int(time.monotonic())
        before, count = live.spent.get(seat, (second, 0))
        count = count + 1 if before == second else 1
        if count > self._limits.moves:
            self._metrics.throttled += 1
            raise RequestRefused(f"a seat may answer {self._limits.moves} times a second", 429)
        live.spent[seat] = second, count

    def answer(self, live: Live, answer: Answer) -> bool:
        """Take an answer, and play the step if it was the last; False for one that is late."""
        seat = answer.seat
        captured = live.captured.get(seat, ())
        counted = live.match.accept(with_exchanges(answer, captured))
        if counted:
            live.captured.pop(seat, None)
            live.captured_bytes.pop(seat, None)
            self._metrics.moves += 1
            keep(kind_of(answer), live.match.name, seat)
            if live.match.leaving.departures:
                live.at_once = _is_instant(live.match)
                if answer.missed:  # who is too slow keeps no substitute from answering
                    live.asked.pop(seat, None)
            self._step(live)
        return counted

    def go_on(self, live: Live) -> None:
        """Let local agents answer, set the clocks, and notify followers after the journal."""
        match = live.match
        live.touched = time.monotonic()
        if match.stepping:
            return
        if live.at_once and not match.ask_at_once(time.monotonic() + SLICE):
            self._go_on_later(live)
            live.clocks.stop()  # nobody's time runs while scripts play on
            self._journal.changed(live)
            return
        if not live.at_once:
            for pending in match.agents_due():
                seat = pending.turn.seat
                if seat not in live.asked:
                    live.asked[seat] = asyncio.create_task(self._ask(live, pending))
        self._set_clocks(live)
        if match.over and not match.recorded and match.episode.steps_played > LONG:
            match.stepping = True
            live.stepping = asyncio.create_task(self._finish_aside(live))
            self._journal.changed()
            return
        self._journal.changed(live)
        if match.over:
            self._finish(live)

    async def _finish_aside(self, live: Live) -> None:
        """Write the record of a long match in a thread; until then, the match is not over."""
        try:
            await self._aside.records.run(live.match.finish)
        except Exception as error:
            log.error("match=%s has no record: %s", live.match.name, cause(error))
        live.match.stepping, live.stepping = False, None
        if not live.halted:
            self._journal.changed(live)
            self._finish(live)

    def _go_on_later(self, live: Live) -> None:
        """Let a match go on after what has arrived meanwhile, and after others that wait so."""
        if not self._long:
            asyncio.get_running_loop().call_soon(self._go_on_with_next)
        self._long[live] = None

    def _go_on_with_next(self) -> None:
        live = next(iter(self._long))
        del self._long[live]
        if self._long:
            asyncio.get_running_loop().call_soon(self._go_on_with_next)
        if not live.halted:
            self.go_on(live)

    def _step(self, live: Live) -> None:
        """Play a step whose answers are complete, in a thread if its rules run programs; go on."""
        match = live.match
        if match.is_answered and match.game.runs_programs:
            match.stepping = True
            live.stepping = asyncio.create_task(self._step_aside(live))
            live.clocks.stop()  # nobody's time runs while the rules compute
            self._journal.changed()
            return
        if match.is_answered:
            match.play()
        self.go_on(live)

    async def _step_aside(self, live: Live) -> None:
        await self._aside.rules.run(live.match.play)
        live.match.stepping, live.stepping = False, None
        if not live.match.lost:
            self.go_on(live)

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
            self._metrics.moves += 1
            keep("move", live.match.name, seat)
        self._step(live)

    def _set_clocks(self, live: Live) -> None:
        match, limit = live.match, self._limits.agent_seconds
        if not (match.plan.move_seconds or live.clocks or match.has_local_agents):
            return  # nobody's time is limited
        due = () if match.over else match.due()

        def seconds(seat: int) -> float | None:
            return match.plan.move_seconds or (None if seat in match.remote else limit)

        live.clocks.set({seat: match.tries[seat] for seat in due}, seconds)

    def _time_is_up(self, live: Live, seat: int) -> None:
        seconds = live.match.plan.move_seconds or self._limits.agent_seconds
        why = f"no answer came within {seconds:g} s"
        keep("late", live.match.name, seat)
        self._metrics.late += 1
        self.answer(live, Answer(seat, live.match.answers[seat], missed=why))

    def _finish(self, live: Live) -> None:
        """Hand over the record of a match that is over, to be written after its last answers."""
        try:
            record = live.match.record()
        except Exception as error:  # the match stays as its journal has it
            log.exception("match=%s has no record: %s", live.match.name, cause(error))
            return
        status = "failed" if live.match.error else "over"
        self._store.finish(live.match.name, status, msgspec.json.encode(record))
        keep(status, live.match.name)


def _is_instant(match: Match) -> bool:
    """Whether local agents are asked on the event loop, and the rules play their answers."""
    return match.answers_at_once and not match.game.runs_programs
