"""Settings of the tests of vLLM."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Games run uncompiled: vLLM brings a numba of its own, for which every one would be compiled
    again to play four moves. That compiled rules equal these is checked by the conformance kit.
    """
    monkeypatch.setattr("palestra.world.numba_installed", lambda: False)
