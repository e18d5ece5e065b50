"""A browser that follows an episode, to compare both executions or to watch it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from palestra import (
    Divergence,
    Episode,
    InvalidOption,
    MissingExtra,
    OutOfTurn,
    TextAction,
    hookimpl,
    renderer,
)

from palestra_web.actions import Stop
from palestra_web.chromium import BrowserGone, BrowserTab, Chromium, Screen, in_process
from palestra_web.pages import Page
from palestra_web.server import BrowserSession, Server
from palestra_web.website import Website


@renderer("browser", families=("web",))
class Mirror:
    """Repeats a seat's in-process actions in a browser; pass it among the `hooks` of a run.

    The browser works on a copy of the state that nothing else changes. After every action the
    screen is compared with the in-process tab, and the copy's data with the episode's; if they
    differ, `Divergence` is raised. A browser that crashes during an episode is restarted, at most
    once per action, and brought back to the state of the episode.

    browser: a running browser; by default the mirror starts its own.
    seat: the seat to follow.
    folder: where to write a picture of every step and a film (MP4) of every episode, if given.
    """

    def __init__(
        self,
        browser: Chromium | None = None,
        *,
        seat: int = 0,
        folder: Path | None = None,
    ) -> None:
        self.seat, self.folder = seat, folder
        self.names: tuple[str, ...] = ()
        self._own = browser is None
        self._browser = browser or Chromium(headless=not os.environ.get("DISPLAY"))
        self._server = Server()
        self._tab: BrowserTab | None = None
        self._count = 0

    def __enter__(self) -> Mirror:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the tab and the server, and finish the film."""
        self._finish_film()
        if self._tab is not None:
            self._tab.close()
            self._tab = None
        if self._own:
            self._browser.close()
        self._server.close()

    def _finish_film(self) -> None:
        if self._tab is not None and self.folder is not None:
            film(self.folder, f"episode-{self._count}")

    @hookimpl
    def palestra_episode_started(self, episode: Episode) -> None:
        """Show the first page of an episode."""
        self.start(episode)

    @hookimpl
    def palestra_stepped(self, episode: Episode) -> None:
        """Show what a move has changed."""
        self.follow(episode)

    def draw(self, episode: Episode, viewer: int | None = None) -> None:
        """Start at the first step and follow at every later one; called like a renderer."""
        if episode.steps_played == 0:
            self.seat = viewer or 0
            self.start(episode)
        else:
            self.follow(episode)

    def start(self, episode: Episode) -> None:
        """Open the first page of an episode."""
        if not isinstance(episode.game, Website):
            name = type(episode.game).__name__
            raise InvalidOption(f"{name} is not a website; a browser can only show websites")
        self._finish_film()
        self._count += 1
        self._followed, self._following = 0, episode
        self._open(episode.game, episode)
        self._compare(episode)

    def picture(self) -> bytes:
        """A PNG screenshot of the browser."""
        if self._tab is None:
            raise OutOfTurn("nothing is shown yet; reset() first")
        return self._tab.picture()

    def _open(self, game: Website, episode: Episode) -> BrowserTab:
        self._served = BrowserSession(game, game.clone(episode.state), self.seat)
        entrance = self._server.enter(self._served)
        self._tab = self._tab.next(entrance) if self._tab else self._browser.open(entrance)
        self._before: Page = episode.state.tabs[self.seat].page
        return self._tab

    def follow(self, episode: Episode) -> None:
        """Perform the actions taken since the last call."""
        if episode is not self._following:
            raise InvalidOption("one browser follows one episode at a time; play with live=1")
        news = list(episode.history())[self._followed :]
        self._followed += len(news)
        try:
            for played in news:
                self._do(played.actions)
            self._compare(episode)
        except BrowserGone:
            self._browser.restart()
            self._tab = None
            tab = self._open(self._served.game, episode)
            tab.restore(episode.state.tabs[self.seat])
            self._compare(episode)
        self._before = episode.state.tabs[self.seat].page

    def _do(self, actions: Mapping[int, Any]) -> None:
        served = self._served
        for seat, action in actions.items():
            if not isinstance(action, TextAction):  # the seat forfeited
                continue
            stops = isinstance(action, Stop)  # which no browser can do
            if seat == self.seat and self._tab is not None and not stops:
                phrases = served.game.phrases(served.state.data, seat)
                self._tab.do(action, self._before, phrases)
            else:
                served.game.act(served.state, seat, action)

    def _compare(self, episode: Episode) -> None:
        assert self._tab is not None
        screen, expected = self._tab.look(), in_process(episode.state.tabs[self.seat])
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            name = f"episode-{self._count}-{episode.steps_played:05}.png"
            (self.folder / name).write_bytes(self._tab.picture())
        if screen != expected:
            raise Divergence(episode.steps_played, *first_difference(expected, screen))
        ours, theirs = episode.state.data, self._served.state.data
        if ours != theirs:
            raise Divergence(episode.steps_played, "the site's data", ours, theirs)


def film(folder: Path, name: str) -> None:
    """Make `name`.mp4 from the pictures `name`-00000.png, …, two a second."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError as error:
        raise MissingExtra("imageio-ffmpeg", "palestra-web[browser]") from error
    command = [get_ffmpeg_exe(), "-y", "-loglevel", "error", "-framerate", "2"]
    command += ["-i", str(folder / f"{name}-%05d.png"), "-pix_fmt", "yuv420p"]
    subprocess.run([*command, str(folder / f"{name}.mp4")], check=True, stdin=subprocess.DEVNULL)


def first_difference(expected: Screen, screen: Screen) -> tuple[str, object, object]:
    """The first difference between two screens: in process, and in the browser."""
    for what in ("url", "title"):
        one, other = getattr(expected, what), getattr(screen, what)
        if one != other:
            return f"the {what}", one, other
    pairs = enumerate(zip_longest(expected.lines, screen.lines), start=1)
    return next((f"line {n}", one, other) for n, (one, other) in pairs if one != other)
