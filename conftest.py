"""Settings of the whole run; fixtures live beside the tests that use them."""

from __future__ import annotations

import gc
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs beside it
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs under test inherit this


ENVIRONMENT = re.compile(r"[a-z]\w*/\w+-v\d+")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow tests, so that no process is left with one when the others are done.

    The late ones among them come last: by then another process has compiled the rules they use. Of
    the quick ones, those of one environment follow each other: a process that has compiled its
    rules for one function compiles the next in a fraction of the time.
    """
    slow = [item for item in items if item.get_closest_marker("slow")]
    slow.sort(key=lambda item: item.get_closest_marker("late") is not None)
    quick = [item for item in items if not item.get_closest_marker("slow")]
    items[:] = slow + sorted(quick, key=_environment)


def _environment(item: pytest.Item) -> str:
    """The id of the environment that a test is parametrized with, and its options; or nothing."""
    case = getattr(item, "callspec", None)
    named = [getattr(value, "id", value) for value in case.params.values()] if case else []
    return next((n for n in named if isinstance(n, str) and ENVIRONMENT.match(n)), "")


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The path of a Chromium. Tests that need one are slow ones, and fail where there is none."""
    from palestra_web.chromium import INSTALL, PLACE, browser_path

    path = browser_path()
    if path is None:
        pytest.fail(
            f"no Chromium: run {INSTALL}, or set {PLACE} to its path; -m 'not slow' leaves out the "
            "tests that need one"
        )
    return path


@pytest.fixture(scope="module")
def browser(chromium_path: str) -> Iterator[Any]:
    """A Chromium, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield opened
        opened.close()


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over thousands of collected tests and imported libraries."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # compilers make many objects and little garbage
