"""Live pages of runs: what `--watch` of play, tournament, train and train-llm opens.

A plugin serves the page (hook `palestra_watch`); commands tell it what happens and know nothing of
how it is shown. A page is a listener of runs, which draws the boards, and a logger, which draws the
curves. What a page may cost is bounded by `Sparing`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Literal, Protocol

import msgspec

from palestra.kernel.errors import MissingExtra
from palestra.kernel.hooks import hookimpl
from palestra.kernel.registry import registry
from palestra.records.intervals import Sample
from palestra.records.record import EpisodeRecord

JOIN = "PALESTRA_WATCH"  # the variable that tells processes of a run where its page is
SHARE = 0.02  # of the time, that a page may take
Viewer = int | Literal["all", "public"]  # a seat, everything, or what every seat may know


class Standing(msgspec.Struct, frozen=True, omit_defaults=True):
    """One row of the standings: an estimate with its interval, and what it was estimated from."""

    name: str
    value: float
    low: float
    high: float
    games: int = 0
    note: str = ""


class LivePage(Protocol):
    """The page of a run. It also has the life-cycle hooks that draw the boards."""

    address: str  # what a person opens; it includes the key to the page

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Add a point to each curve."""

    def stand(self, title: str, rows: Sequence[Standing]) -> None:
        """Show these standings, best first."""

    def show_lanes(self, batch: Any, env: str) -> None:
        """Show what the first lanes of a batch look like, if it is time to draw again."""

    def close(self) -> None:
        """Draw everything once more, and end the page."""


class Sparing:
    """Says when something may be done that must not take more than a share of the time.

    What is not used is saved up, to at most `saved` seconds of doing, so that the moves between two
    long thoughts are all shown. What something costs is the less of the last two times: the first
    one loads modules and fills caches, which took three seconds where the next took 0.2.
    """

    def __init__(self, share: float = SHARE, saved: float = 0.0) -> None:
        self.share, self._saved = share, saved
        self._left, self._since, self._took, self._last = 0.0, perf_counter(), 0.0, 0.0

    def due(self) -> bool:
        """Whether it may be done now; `done` must follow."""
        now = perf_counter()
        self._left = min(self._left + (now - self._since) * self.share, self._saved + self._took)
        self._since = now
        return self._left >= self._took

    def done(self) -> None:
        """What was begun when it was due has been done."""
        now = perf_counter()
        self._took, self._last = min(now - self._since, self._last), now - self._since
        self._left -= self._took
        self._since = now


def open_watch(title: str, *, viewer: Viewer = "all", port: int = 0) -> LivePage:
    """Open a live page on loopback; `port` 0 takes a free one.

    viewer: what the page may show of hidden information. Processes that the caller starts later
    find the page in their environment, see `joined_watch`. Raises `MissingExtra` if no plugin has
    live pages, and `InvalidOption` if the port is taken.
    """
    options = {"viewer": viewer, "port": port}
    page: LivePage | None = registry().plugins.first("palestra_watch", title=title, options=options)
    if page is None:
        raise MissingExtra("a live page, which --watch opens,", "palestra-server")
    return page


def joined_watch() -> Any:
    """A listener that draws on the page of the run this process belongs to; None without one."""
    place = os.environ.get(JOIN)
    if not place:
        return None
    return registry().plugins.first("palestra_watch", title="", options={"at": place})


class RunStandings:
    """Listens to a run of one line-up: each seat's mean return so far, as standings and curves."""

    def __init__(self, page: LivePage) -> None:
        self._page, self._sparing = page, Sparing()
        self._seats: list[tuple[str, Sample]] = []
        self._finished = 0

    @hookimpl
    def palestra_episode_finished(self, record: EpisodeRecord) -> None:
        if record.error:
            return
        if not self._seats:
            pairs = zip(record.players, record.agents, strict=True)
            self._seats = [(f"{player}: {agent}", Sample()) for player, agent in pairs]
        self._finished += 1
        for (_, sample), paid in zip(self._seats, record.returns, strict=True):
            sample.add(float(paid))
        if self._sparing.due():
            self.tell()
            self._sparing.done()

    def tell(self) -> None:
        """Show the standings as they are now."""
        if not self._seats:
            return
        rows = [Standing(name, *s.interval(), games=s.count) for name, s in self._seats]
        self._page.stand("Mean return", sorted(rows, key=lambda row: -row.value))
        means = {f"mean return/{name}": sample.mean for name, sample in self._seats}
        self._page.log(self._finished, means)
