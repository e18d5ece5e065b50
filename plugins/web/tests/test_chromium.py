"""The same sites in process and in real Chromium, action by action."""

from __future__ import annotations

from collections.abc import Iterator

import palestra
import pytest
from palestra.registry import registry
from palestra_web.chromium import Chromium, Mirror, browser_path

pytest.importorskip("playwright", reason="playwright is not installed")

SITES = [s.id for s in registry().environments.values() if s.family == "web"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser_path() is None, reason="no Chromium on this machine"),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with Chromium() as browser:
        yield browser


@pytest.mark.parametrize("env", SITES)
def test_a_random_walk_is_the_same_in_both(chromium: Chromium, env: str) -> None:
    steps = 0
    with Mirror(chromium) as mirror:
        for seed in range(1000):
            (record,) = palestra.play(env, agents=["random"], seed=seed, hooks=[mirror])
            steps += len(record.turns)
            if steps >= 200:
                break
    assert steps >= 200
