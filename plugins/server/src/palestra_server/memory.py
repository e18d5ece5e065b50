"""Which matches are in memory: restored from the journal, taken over, evicted when idle."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator

from palestra.kernel.errors import PalestraError, cause, show
from palestra.kernel.registry import registry
from palestra.records.versions import check_versions, versions_for, versions_of_names

from palestra_server.audit import note
from palestra_server.limits import Limits
from palestra_server.live import Live
from palestra_server.match import Match
from palestra_server.messages import MatchPlan
from palestra_server.metrics import Metrics
from palestra_server.peers import Elsewhere, Peers
from palestra_server.play import Play
from palestra_server.refused import RequestRefused
from palestra_server.store import DamagedStore, MatchStore, StoreError

log = logging.getLogger("palestra.server")
DAY = 86_400.0  # seconds


class Memory:
    """The matches of this process by name, and how they come and go.

    forget: called with a match that leaves memory. other_versions: whether matches that were
    opened with other versions are resumed.
    """

    def __init__(
        self,
        store: MatchStore,
        limits: Limits,
        metrics: Metrics,
        peers: Peers | None,
        *,
        forget: Callable[[Live], None],
        other_versions: bool,
    ) -> None:
        self._store, self._limits, self._metrics, self._peers = store, limits, metrics, peers
        self._forget, self._other_versions = forget, other_versions
        self._live: dict[str, Live] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, play: Play) -> None:
        """Restore every match that is not over; with peers, those whose server is dead."""
        self._play = play
        if self._peers is None:
            try:
                self._store.check()
            except DamagedStore as error:  # what can be read is served
                log.error("%s", error)
            with contextlib.suppress(DamagedStore):
                for name in self._store.unfinished():
                    self._restore(name)
        else:
            self._peers.beat()
            self._tasks.append(asyncio.create_task(self._beat(self._peers)))
        self._tasks.append(asyncio.create_task(self._sweep()))

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for live in self.matches:
            live.halt()

    @property
    def matches(self) -> list[Live]:
        return list(self._live.values())

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._live))

    def __len__(self) -> int:
        return len(self._live)

    def __contains__(self, name: object) -> bool:
        return name in self._live

    def add(self, match: Match, invite: bytes) -> Live:
        """Keep a match, where nothing goes on yet."""
        live = self._live[match.name] = self._play.begin(match, invite)
        return live

    def find(self, name: str) -> Live:
        """A match by name, from the journal if need be; raises `RequestRefused`."""
        live = self._live.get(name)
        if live is None and (self._peers is None or self._peers.take(name)):
            live = self._load(name)
        if live is None:
            raise RequestRefused(f"this server has no match {show(name)}", 404)
        return live

    def drop(self, name: str) -> None:
        """Take a match that is over and written out of memory; whoever asks brings it back."""
        live = self._live.get(name)
        if live is None or not live.match.over or self._store.pending:
            return
        if not (live.asked or live.followed):
            self._evict(live)

    def give_up(self, names: Iterable[str]) -> None:
        """Forget matches that another server plays now, and notify who follows them here."""
        for name in list(names):
            live = self._live.pop(name, None)
            if live is None:
                continue
            self._forget(live)
            log.warning("match=%s is played by another server now", name)
            live.match.lost = True
            live.halt()
            live.notify()

    def _evict(self, live: Live) -> None:
        live.match.close()
        self._forget(live)
        del self._live[live.match.name]

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
            kept = self._store.load(name)
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
            if kept.status == "over" and not match.over:
                raise DamagedStore(f"match {name} was over, and its last answers are missing")
        except Exception as error:  # damaged, or of an environment that is not installed
            if isinstance(error, StoreError) and not isinstance(error, DamagedStore):
                raise
            raise RequestRefused(
                f"match {name} cannot be restored ({cause(error)}); restore a copy of the store, "
                "or install what it was played with",
                409,
            ) from error
        match.keep_journal(self._store.add)
        live = self.add(match, kept.invite)
        live.next = kept.next
        if kept.status == "open":
            self._play.go_on(live)
        return live

    async def _beat(self, peers: Peers) -> None:
        """Say that this server lives, and take the matches of dead ones over."""
        dead = ["at the start"]
        while True:
            if dead:
                self._adopt(peers)
            await asyncio.sleep(peers.seconds)
            try:
                if peers.buried():
                    self.give_up(self._live)
                dead = peers.beat()
            except PalestraError as error:
                log.error("%s", error)

    def _adopt(self, peers: Peers) -> None:
        for name in peers.orphans():
            with contextlib.suppress(Elsewhere):
                if peers.take(name) and self._restore(name) is not None:
                    note("adopt", name)

    async def _sweep(self) -> None:
        """Evict idle matches periodically, and delete old ones."""
        while True:
            await asyncio.sleep(min(30.0, self._limits.idle_seconds / 4))
            now = time.monotonic()
            for live in self.matches:
                busy = live.asked or live.clocks or live.captured or live.stepping or live.followed
                idle = now - live.touched > self._limits.idle_seconds
                if idle and not busy and not self._store.pending:
                    self._evict(live)
                    self._metrics.evicted += 1
            if days := self._limits.keep_days:
                self._prune(time.time() - days * DAY)

    def _prune(self, before: float) -> None:
        """Delete some of the matches that were over by a time; the next sweep goes on."""
        try:
            owner = self._peers.name if self._peers else ""
            pruned = self._store.prune(before, self, owner=owner)
        except StoreError as error:
            log.error("%s", error)
            return
        self._metrics.pruned += pruned
        if pruned:
            note("prune", count=pruned)


def versions_of(plan: MatchPlan) -> dict[str, str]:
    """Versions of what a match's environment and agents are defined by."""
    env = registry().environment(plan.env).entry_point
    agents = [*plan.seats, *([plan.substitute] if plan.substitute else [])]
    return {**versions_for(env), **versions_of_names(agents)}
