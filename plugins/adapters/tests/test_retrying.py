"""R³: failed tasks are tried again with the failures in the prompt, and successes are replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import palestra
import pytest
from adapter_worlds import Free
from palestra import Agent, Decision, InvalidOption, Turn
from palestra_adapters.memory.retrying import REFLECT, TRIED, Retrying
from palestra_rewards import Group, estimate
from palestra_rewards.retrying import Successes, retried_rollouts

LAKE: dict[str, Any] = {"layout": ("SFF", "FHF", "FFG"), "slippery": False}
SAFE = ["right", "right", "down", "down"]


class Walker(Agent):
    """Walks the same way in every episode."""

    name = "walker"

    def __init__(self, way: list[str]) -> None:
        self.way = way

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(text=self.way[turn.steps_played]) for turn in turns]


def test_failures_are_shown_before_the_retry_and_successes_forget_them() -> None:
    said = iter(["down", "right", *SAFE])
    model = Free(lambda _: next(said))
    agent = Retrying(target="", model=model)
    found = retried_rollouts("games/FrozenLake-v0", agents=agent, seeds=[5], n=1, **LAKE)
    assert [record.returns[0] for record in found.first] == [0.0]
    assert [record.returns[0] for record in found.retries] == [1.0]
    assert found.retries[0].tags == {"retry": True}
    assert found.retries[0].group == f"{found.first[0].group} retry"
    first, third = model.requests[0], model.requests[2]
    assert TRIED not in first.messages[0].content
    assert TRIED in third.messages[0].content
    assert REFLECT in third.messages[0].content
    assert "which was paid 0" in third.messages[0].content
    agent.study()
    assert agent.attempts == []  # the success forgot them


def test_tasks_with_a_success_are_not_tried_again() -> None:
    said = iter([*SAFE, "down", "right", "down", "right", *SAFE])
    agent = Retrying(target="", model=Free(lambda _: next(said)))
    found = retried_rollouts("games/FrozenLake-v0", agents=agent, seeds=[5, 6], n=1, **LAKE)
    assert [record.seed for record in found.retries] == [6]
    with pytest.raises(InvalidOption, match="seeds must differ"):
        retried_rollouts("games/FrozenLake-v0", agents="random", seeds=[1, 1], n=2)


def test_a_stored_success_joins_a_batch_that_failed() -> None:
    """Four failures have no spread; with one replayed among them GRPO gives it 3/sqrt(3)."""
    lost = palestra.rollouts("games/FrozenLake-v0", agents=Walker(["down", "right"]), n=4, **LAKE)
    (won,) = palestra.rollouts("games/FrozenLake-v0", agents=Walker(SAFE), n=1, **LAKE)
    store = Successes()
    assert store.fill(lost) == lost
    store.note([won, *lost])
    batch = store.fill(lost)
    assert [record.returns[0] for record in batch] == [0, 0, 0, 1]
    assert batch[3].tags == {"replayed": True}
    values = estimate("grpo", Group.of(batch, compare_by=("seat",))).per_line()
    assert values[3] == pytest.approx(np.full(4, 3 / np.sqrt(3)))
    assert values[0] == pytest.approx(np.full(2, -1 / np.sqrt(3)))
    store.note(batch)
    assert len(next(iter(store.stored.values()))) == 1  # a replay is not stored again
    other = palestra.rollouts(
        "games/FrozenLake-v0", agents=Walker(["down", "right"]), n=2, seed=9, **LAKE
    )
    assert store.fill(other) == other  # of another task
