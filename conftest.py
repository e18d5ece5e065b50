"""Settings of the whole run; fixtures live beside the tests that use them."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tests"))  # also where `pythonpath` is another
pytest_plugins = ("selection", "costs")

# Most tests play a few steps of options of their own. The kit and the tests of batches compile the
# rules of every environment; with 0 everything compiles at once, as it does for users.
os.environ.setdefault("PALESTRA_COMPILE_AFTER", "1")

with suppress(ImportError):  # the environments of clients have no hypothesis
    from hypothesis import settings

    settings.register_profile("palestra", deadline=None)  # no test asserts wall time
    settings.load_profile("palestra")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs beside it
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs under test inherit this


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
