"""What holds for every group estimator, whatever the rollouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra_rewards import Group, entries, estimate
from reward_rollouts import drawn

COALITIONS = [[0], [1], [0, 1]]
ORDERED = ("arena",)  # the first rollout is the anchor, and ties go to the better seed
NAMES = [entry.name for entry in entries("group")]


def options(name: str) -> dict[str, Any]:
    return {
        "archer": {"critic": "table"},  # networks have tests of their own
        "turn-critic": {"critic": "table"},
        "arena": {"judge": lambda i, j: 0.5},
        "dylan": {"ratings": np.ones((1, 2, 2))},
        "shapley": {"team": "sum"},
        "counterfactual": {"team": "sum"},
    }.get(name, {})


def ready(name: str, group: Group) -> Group:
    """Rollouts as far as an estimator accepts them: coalitions complete, one player for chains."""
    if name in ("shapley", "counterfactual"):
        return coalitions(group)
    if name in ("segment-chain", "qlass"):
        return single(group)
    return group


def coalitions(group: Group) -> Group:
    """Three rollouts of one task: seat 0 alone, seat 1 alone, both."""
    rewards = np.resize(group.rewards, 6)
    return Group.from_arrays(
        episode=[0, 0, 1, 2, 2, 2],
        seat=[0, 0, 1, 0, 1, 0],
        rewards=rewards,
        facts={"coalition": COALITIONS},
    )


def single(group: Group) -> Group:
    return Group.from_arrays(
        episode=group.episode,
        rewards=group.rewards,
        task=np.zeros(group.episodes, dtype=int),
        parent=group.parent,
        state=group.state,
        action=group.action,
        facts={"branched_at": group.fact("branched_at")},
    )


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), episodes=st.integers(4, 14))
def test_every_turn_gets_a_finite_number(name: str, seed: int, episodes: int) -> None:
    group = ready(name, drawn(seed, episodes=episodes))
    found = estimate(name, group, **options(name))
    assert found.values.shape == (group.size,)
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), value=st.sampled_from([0.0, 0.1, -3.7, 1e6]))
def test_constant_rewards_give_numbers(name: str, seed: int, value: float) -> None:
    group = drawn(seed)
    group = ready(name, group.replace(rewards=np.full(group.size, value)))
    assert np.isfinite(estimate(name, group, **options(name)).values).all()


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_single_member_groups_give_numbers(name: str, seed: int) -> None:
    group = ready(name, drawn(seed, task=np.arange(12)))
    assert np.isfinite(estimate(name, group, **options(name)).values).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cut", [True, False])
def test_truncated_episodes_give_numbers(name: str, cut: bool) -> None:
    group = ready(name, drawn(5, truncated=np.full(12, cut)))
    assert np.isfinite(estimate(name, group, **options(name)).values).all()


@pytest.mark.parametrize("name", ["grpo", "rloo", "dr-grpo", "canon", "self-play-preference"])
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_a_rollout_alone_in_its_task_earns_nothing(name: str, seed: int) -> None:
    group = drawn(seed, seats=1, task=np.arange(12), facts={}, parent=None)
    np.testing.assert_allclose(estimate(name, group).values, 0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ORDERED])
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_the_order_of_rollouts_does_not_matter(name: str, seed: int, data: Any) -> None:
    group = ready(name, drawn(seed))
    order = np.array(data.draw(st.permutations(range(group.episodes))))
    moved, turns = permuted(group, order)
    found = estimate(name, group, **options(name)).values
    again = estimate(name, moved, **options(name)).values
    np.testing.assert_allclose(again, found[turns], rtol=1e-9, atol=1e-9)


def permuted(group: Group, order: np.ndarray) -> tuple[Group, np.ndarray]:
    """The same rollouts with episode `order[i]` in place i, and where each turn came from."""
    turns = np.concatenate([np.flatnonzero(group.episode == one) for one in order])
    line_episode = group.episode[group.line_first]
    lines = np.concatenate([np.flatnonzero(line_episode == one) for one in order])
    place = np.empty(order.size, dtype=int)
    place[order] = np.arange(order.size)

    def over(values: Any, which: np.ndarray) -> Any:
        return None if values is None else np.asarray(values)[which]

    def moved_fact(values: Any) -> Any:
        size = len(values)
        if size == group.size and size not in (group.lines, group.episodes):
            return np.asarray(values)[turns]
        if size == group.lines and size != group.episodes:
            return np.asarray(values)[lines]
        return [values[one] for one in order]

    parent = group.parent
    if parent is not None:
        parent = np.where(parent[order] < 0, -1, place[parent[order]])
    columns = {
        name: over(getattr(group, name), turns)
        for name in (
            "seat",
            "turn",
            "rewards",
            "state",
            "action",
            "tokens",
            "logprob",
            "seconds",
            "cost",
        )
    }
    return (
        Group.from_arrays(
            episode=place[group.episode[turns]],
            returns=group.returns[lines],
            task=group.task[order],
            truncated=group.truncated[order],
            success=over(group.success, lines),
            parent=parent,
            facts={name: moved_fact(values) for name, values in group.facts.items()},
            **columns,
        ),
        turns,
    )
