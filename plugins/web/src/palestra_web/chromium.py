"""The same pages in a real browser: Chromium through Playwright, one tab a seat.

`Chromium` starts the system's browser; `BrowserTab` does an agent's actions in it and says what
stands on the screen; `Mirror` follows an episode action by action and says where the two differ.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from importlib.resources import files
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from palestra import (
    Divergence,
    Episode,
    InvalidOption,
    MissingExtra,
    PalestraError,
    TextAction,
    hookimpl,
)

from palestra_web.actions import Back, Click, Copy, Fill, Goto, Press, Scroll, Select
from palestra_web.pages import Page, Shown
from palestra_web.server import Served, Server
from palestra_web.website import Tab, Website

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PLACE = "PALESTRA_CHROMIUM"
ARGUMENTS = [
    "--no-sandbox",  # as root, in a container; the pages are ours and run no script
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
INSTALL = "sudo apt-get install chromium"


class BrowserGone(PalestraError):
    """There is no browser: not installed, not starting, crashed or closed in mid-episode."""


def browser_path() -> str | None:
    """The system's Chromium: where PALESTRA_CHROMIUM says, or the first on the PATH."""
    if PLACE in os.environ:
        return os.environ[PLACE]
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def playwright() -> Any:
    """Playwright's way in, if it is installed."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise MissingExtra("playwright", "palestra-web[browser]") from error
    return sync_playwright()


class Screen(NamedTuple):
    """What stands on the screen."""

    url: str
    title: str
    lines: tuple[Shown, ...]

    @property
    def text(self) -> str:
        return "\n".join([f"{self.url} {self.title!r}", *(line.text for line in self.lines)])


def in_process(tab: Tab) -> Screen:
    """What would stand on the screen of a tab."""
    return Screen(tab.page.url, tab.page.title, tuple(tab.page.shown(tab.drafts)))


def first_difference(expected: Screen, screen: Screen) -> tuple[str, object, object]:
    """Where two screens differ, and how: what, in process, in the browser."""
    for what in ("url", "title"):
        one, other = getattr(expected, what), getattr(screen, what)
        if one != other:
            return f"the {what}", one, other
    pairs = enumerate(zip_longest(expected.lines, screen.lines), start=1)
    return next((f"line {n}", one, other) for n, (one, other) in pairs if one != other)


class Chromium:
    """A running browser; close it, or use it in a `with`."""

    def __init__(self, *, headless: bool = True) -> None:
        path = browser_path()
        if path is None:
            raise BrowserGone(
                f"no Chromium was found; run: {INSTALL}, or say in {PLACE} where it is"
            )
        self._playwright = playwright().start()
        try:
            self._browser = self._playwright.chromium.launch(
                executable_path=path, headless=headless, args=ARGUMENTS
            )
        except Exception as error:
            self._playwright.stop()
            raise BrowserGone(f"{path} does not start: {error}") from error

    def open(self, entrance: str, *, video: Path | None = None) -> BrowserTab:
        """A tab with a profile of its own, at a session's entrance; filmed into a folder."""
        size: Any = {"width": 1024, "height": 768}
        filmed = {"record_video_dir": str(video), "record_video_size": size} if video else {}
        context = self._browser.new_context(viewport=size, **filmed)
        page = context.new_page()
        page.set_default_timeout(20_000)
        tab = BrowserTab(page, entrance.split("/enter/")[0])
        tab.page.goto(entrance)
        return tab

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser, if it is still there."""
        try:
            self._browser.close()
        finally:
            self._playwright.stop()


class BrowserTab:
    """One tab: does actions and tells what it shows."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address

    def look(self) -> Screen:
        """What stands on the screen, read from the browser's own document."""
        seen = self.page.evaluate(_LOOK)
        lines = tuple(Shown(*line) for line in seen["lines"])
        return Screen(seen["url"], seen["title"], lines)

    def picture(self) -> bytes:
        """A PNG of what is in view."""
        data: bytes = self.page.screenshot()
        return data

    def close(self) -> None:
        """Close the tab and its profile; a film of it is written now."""
        if not self.page.is_closed():
            self.page.context.close()

    def do(self, action: TextAction, page: Page, phrases: Sequence[str] = ()) -> None:
        """Do an action on the page that the tab shows."""
        try:
            self._do(action, page, phrases)
        except Exception as error:
            if self.page.is_closed() or "closed" in str(error) or "crashed" in str(error):
                raise BrowserGone(f"the browser was gone at {action!r}: {error}") from error
            raise

    def _do(self, action: TextAction, page: Page, phrases: Sequence[str]) -> None:
        if isinstance(action, Click):
            self._click(page, action.element)
        elif isinstance(action, Fill):
            self._fill(page, action.element, action.text)
        elif isinstance(action, Copy):
            self._fill(page, action.element, phrases[action.phrase - 1])
        elif isinstance(action, Select):
            self._at(action.element).select_option(label=action.option)
        elif isinstance(action, Press):
            buttons = any(other.role == "button" for _, other in page.beside(action.element))
            leaves = buttons and page.form_of(action.element) is not None
            self._act(lambda: self._at(action.element).press(action.key), leaves)
        elif isinstance(action, Goto):
            self.page.goto(f"{self.address}{action.url}")
        elif isinstance(action, Back):
            self.page.go_back()
        elif isinstance(action, Scroll):
            self.page.mouse.wheel(0, 400 if action.direction == "down" else -400)

    def _at(self, number: int) -> Any:
        return self.page.locator(f'[data-number="{number}"]')

    def _fill(self, page: Page, number: int, text: str) -> None:
        self._at(number).fill(page.element(number).typed(text))

    def _click(self, page: Page, number: int) -> None:
        element = page.element(number)
        if element.role == "option":
            self._at(page.holder(number)).select_option(label=element.name)
        elif element.role == "combobox":
            self._at(number).focus()  # a click would open its list over the page
        else:
            leaves = element.role == "link" or (element.role == "button" and page.form_of(number))
            self._act(self._at(number).click, bool(leaves))

    def _act(self, act: Callable[[], object], leaves: bool) -> None:
        """Act, and where that leaves the page, wait for the next."""
        if not leaves:
            act()
            return
        with self.page.expect_navigation():
            act()


class Mirror:
    """Follows the episodes of a run in a browser, one seat's tab each: pass it among `hooks`.

    After every action what stands on the screen is compared with the tab in process, and the
    site's data with that behind the browser; `Divergence` says where they differ. `pictures` is a
    folder for a PNG of every step, `video` one for a film of every episode.
    """

    def __init__(
        self,
        browser: Chromium,
        *,
        seat: int = 0,
        pictures: Path | None = None,
        video: Path | None = None,
    ) -> None:
        self.seat, self.pictures, self.video = seat, pictures, video
        self._browser, self._server = browser, Server()
        self._tab: BrowserTab | None = None
        self._episode = 0

    def __enter__(self) -> Mirror:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the tab, which ends its film, and the server."""
        if self._tab is not None:
            self._tab.close()
        self._server.close()

    @hookimpl
    def palestra_episode_started(self, episode: Episode) -> None:
        game = episode.game
        if not isinstance(game, Website):
            raise InvalidOption(f"{type(game).__name__} is not a website: no browser can show it")
        if self._tab is not None:
            self._tab.close()
        self._episode += 1
        self._served = Served(game, game.clone(episode.state), self.seat)
        entrance = self._server.enter(self._served)
        self._tab = self._browser.open(entrance, video=self.video)
        self._before: Page = episode.state.tabs[self.seat].page
        self._compare(episode)

    @hookimpl
    def palestra_stepped(self, episode: Episode) -> None:
        *_, last = episode.history()
        for seat, action in last.actions.items():
            if not isinstance(action, TextAction):  # it forfeited
                return
            if seat == self.seat:
                phrases = self._served.game.phrases(self._served.state.data, seat)
                assert self._tab is not None
                self._tab.do(action, self._before, phrases)
            else:
                self._served.game.act(self._served.state, seat, action)
        self._before = episode.state.tabs[self.seat].page
        self._compare(episode)

    def _compare(self, episode: Episode) -> None:
        assert self._tab is not None
        screen, expected = self._tab.look(), in_process(episode.state.tabs[self.seat])
        if self.pictures is not None:
            self.pictures.mkdir(parents=True, exist_ok=True)
            name = f"episode-{self._episode}-step-{episode.turn:03}.png"
            (self.pictures / name).write_bytes(self._tab.picture())
        if screen != expected:
            raise Divergence(episode.turn, *first_difference(expected, screen))
        if self._served.state.data != episode.state.data:
            raise Divergence(
                episode.turn, "the site's data", episode.state.data, self._served.state.data
            )


_LOOK = files("palestra_web").joinpath("look.js").read_text("utf-8")
