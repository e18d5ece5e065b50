"""Settings of the whole run; fixtures live beside the tests that use them."""

from __future__ import annotations

import gc
import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs beside it
    signal.signal(signal.SIGINT, signal.default_int_handler)  # programs under test inherit this


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow tests, so that no process is left with one when the others are done."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over thousands of collected tests and imported libraries."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # compilers make many objects and little garbage
