"""An episode is the same on every Python, although `sum` adds floats differently from 3.12 on."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec
import palestra
import pytest

CORRECTS = sys.version_info >= (3, 12)
LRU_CACHE = type(lru_cache(lambda: None))
RULES = {f"palestra_{name}" for name in ("envs", "games", "markets", "tasks", "web")}
own_sum = builtins.sum


def other_sum(values: Iterable[Any], start: Any = 0) -> Any:
    """`sum` as other Pythons have it: with Neumaier's correction, or one float after the other."""
    added = list(values)
    if not any(type(one) is float for one in added):
        return own_sum(added, start)
    total, lost = start, 0.0
    for one in added:
        moved = total + one
        lost += (total - moved) + one if abs(total) >= abs(one) else (one - moved) + total
        total = moved
    return total if CORRECTS else total + lost


def played(env_id: str, options: dict[str, Any]) -> bytes:
    """What an episode has paid, told and recorded."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in RULES:  # what is drawn once is drawn again
            for value in vars(module).values():
                if type(value) is LRU_CACHE:
                    value.cache_clear()
    (record,) = palestra.play(env_id, agents="random", seed=3, max_episode_steps=16, **options)
    told = [[(one.kind, one.text, one.data) for one in step.events] for step in record.steps]
    paid = [[step.rewards, step.costs, step.facts] for step in record.steps]
    return msgspec.json.encode((record.returns, paid, told))


CASES = [
    pytest.param(spec.id, options, id=f"{spec.id}-{split}")
    for spec in palestra.specs()
    for split, options in {"": {}, **spec.splits}.items()
    if split != "metropolis"  # a million people, drawn twice
]


@pytest.mark.exhaustive(sample=60)
@pytest.mark.parametrize(("env_id", "options"), CASES)
def test_no_episode_depends_on_how_python_adds_floats(
    env_id: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = played(env_id, options)
    monkeypatch.setattr(builtins, "sum", other_sum)
    assert played(env_id, options) == before


def test_the_other_sum_is_another() -> None:
    tenths = [0.1] * 10
    assert other_sum(tenths) != sum(tenths)
    assert {other_sum(tenths), sum(tenths)} == {1.0, 0.9999999999999999}
