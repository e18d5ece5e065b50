"""Settings of the whole run; fixtures live beside the tests that use them."""

from __future__ import annotations

import gc


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over thousands of collected tests and imported libraries."""
    gc.collect()
    gc.freeze()
