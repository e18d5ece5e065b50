"""The same pages in a real browser: Chromium through Playwright, one tab a seat.

`Chromium` starts the system's browser; `BrowserTab` performs actions in it and reads the screen.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, NamedTuple

from palestra import MissingExtra, PalestraError, TextAction

from palestra_web.actions import Back, Click, Copy, Fill, Goto, Press, Scroll, Select
from palestra_web.pages import Page, ScreenLine
from palestra_web.website import Tab

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PLACE = "PALESTRA_CHROMIUM"
ARGUMENTS = [
    "--no-sandbox",  # for root in a container; the pages are ours and run no script
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
INSTALL = "sudo apt-get install chromium"
VIEWPORT = {"width": 1024, "height": 768}


class BrowserGone(PalestraError):
    """Raised when no browser is installed, or it does not start, has crashed or was closed."""


def browser_path() -> str | None:
    """The path of PALESTRA_CHROMIUM, or of the first Chromium on the PATH; None if none."""
    if PLACE in os.environ:
        return os.environ[PLACE]
    return next((path for path in map(shutil.which, BROWSERS) if path), None)


def playwright() -> Any:
    """Playwright's context manager; raises `MissingExtra` where it is not installed."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise MissingExtra("playwright", "palestra-web[browser]") from error
    return sync_playwright()


class Screen(NamedTuple):
    """The address, the title and the lines on the screen."""

    url: str
    title: str
    lines: tuple[ScreenLine, ...]

    @property
    def text(self) -> str:
        """The screen as an agent reads it: address, title and lines."""
        return "\n".join([f"{self.url} {self.title!r}", *(line.text for line in self.lines)])


def in_process(tab: Tab) -> Screen:
    """The screen of an in-process tab."""
    return Screen(tab.page.url, tab.page.title, tuple(tab.page.screen_lines(tab.drafts)))


class Chromium:
    """A running browser; close it, or use it in a `with` statement.

    Raises `BrowserGone` where none is installed or it does not start.
    """

    def __init__(self, *, headless: bool = True) -> None:
        path = browser_path()
        if path is None:
            raise BrowserGone(f"no Chromium was found; run: {INSTALL}, or set {PLACE} to its path")
        self._path, self._headless = path, headless
        self.mark = f"--palestra={secrets.token_hex(8)}"  # to find its processes by
        self._playwright = playwright().start()
        self._browser = self._launch()

    def _launch(self) -> Any:
        try:
            return self._playwright.chromium.launch(
                executable_path=self._path, headless=self._headless, args=[*ARGUMENTS, self.mark]
            )
        except Exception as error:
            self._playwright.stop()
            raise BrowserGone(f"{self._path} does not start: {error}") from error

    def restart(self) -> None:
        """Start the browser again, without the tabs it had."""
        if self._browser.is_connected():
            self._browser.close()
        self._browser = self._launch()

    @property
    def version(self) -> str:
        """The version of the browser."""
        return str(self._browser.version)

    def open(self, entrance: str) -> BrowserTab:
        """Open a session's entry address in a tab with its own profile."""
        return _enter(self._browser.new_context(viewport=VIEWPORT), entrance)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the browser if it still runs."""
        try:
            self._browser.close()
        finally:
            self._playwright.stop()


def _enter(profile: Any, entrance: str) -> BrowserTab:
    """Open a new tab in a profile and enter a session in it."""
    page = profile.new_page()
    page.set_default_timeout(20_000)
    page.goto(entrance)
    return BrowserTab(page, entrance.split("/enter/")[0])


class BrowserTab:
    """One tab of a browser: performs actions and reads what it shows."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address

    def look(self) -> Screen:
        """The screen, read from the browser's own document."""
        with self._browser_needed("a look"):
            read = self.page.evaluate(_LOOK)
        lines = tuple(ScreenLine(*line) for line in read["lines"])
        return Screen(read["url"], read["title"], lines)

    def restore(self, tab: Tab) -> None:
        """Restore in this tab the history, page and field contents of an in-process tab."""
        for url in (*tab.history, tab.page.url):
            self.page.goto(f"{self.address}{url}")
        for number, value in tab.drafts.items():
            role = tab.page.element(number).role
            if role == "textbox":
                self._at(number).fill(value)
            elif role == "combobox":
                self._at(number).select_option(label=value)
            elif role == "checkbox" or value:
                self._at(number).set_checked(bool(value))

    def picture(self) -> bytes:
        """What is in view, as a PNG."""
        return self.page.screenshot()

    def next(self, entrance: str) -> BrowserTab:
        """Open another session in a new tab of this profile, without its cookies; close this one.

        This takes a third of the time of opening another profile, which would be another window.
        """
        self.page.context.clear_cookies()
        tab = _enter(self.page.context, entrance)
        self.page.close()
        return tab

    def close(self) -> None:
        """Close the tab and its profile."""
        if not self.page.is_closed():
            self.page.context.close()

    def do(self, action: TextAction, page: Page, phrases: Sequence[str] = ()) -> None:
        """Perform an action on the page that the tab shows."""
        with self._browser_needed(repr(action)):
            self._do(action, page, phrases)

    @contextmanager
    def _browser_needed(self, what: str) -> Iterator[None]:
        """Raise `BrowserGone` for errors that mean the browser no longer runs."""
        try:
            yield
        except Exception as error:
            if self.page.is_closed() or "closed" in str(error) or "crashed" in str(error):
                raise BrowserGone(f"the browser was gone at {what}: {error}") from error
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
            buttons = any(other.role == "button" for _, other in page.same_form(action.element))
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
        """Perform an action; if it leaves the page, wait for the next page."""
        if not leaves:
            act()
            return
        with self.page.expect_navigation():
            act()


_LOOK = files("palestra_web").joinpath("look.js").read_text("utf-8")
