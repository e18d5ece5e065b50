"""Critics fitted to rollouts, on games whose values are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from palestra_rewards import Group, estimate
from palestra_rewards.estimators.critic import next_turn, turn_critic
from reward_rollouts import drawn


def twenty_questions(games: int, seed: int, *, split: float) -> Group:
    """Eight items, one point a question. Halve the items with chance `split`, else ask for one."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {"episode": [], "rewards": [], "state": [], "action": []}
    for game in range(games):
        left = 8
        while left > 1:
            halve = rng.random() < split
            rows["episode"].append(game)
            rows["rewards"].append(-1.0)
            rows["state"].append(left)
            rows["action"].append("halve" if halve else "one")
            asked = left // 2 if halve else 1
            left = asked if rng.random() < asked / left else left - asked
    return Group.from_arrays(**rows)


def exact_value(left: int, split: float) -> float:
    """Minus the expected questions from `left` items on."""
    if left == 1:
        return 0.0
    total = -1.0
    for asked, chance in ((left // 2, split), (1, 1 - split)):
        yes = asked / left
        found = exact_value(asked, split), exact_value(left - asked, split)
        total += chance * (yes * found[0] + (1 - yes) * found[1])
    return total


def test_the_turn_critic_values_binary_splitting_exactly() -> None:
    group = twenty_questions(50, seed=0, split=1.0)
    quality, value, state = turn_critic(group, gamma=1.0)
    assert value[state[group.line_first]] == pytest.approx(np.full(50, -3.0))  # log2 of 8
    assert quality[group.line_first] == pytest.approx(np.full(50, -3.0))
    np.testing.assert_allclose(estimate("archer", group).values, 0, atol=1e-9)


def test_the_turn_critic_converges_to_the_value_of_a_mixed_player() -> None:
    group = twenty_questions(6000, seed=1, split=0.5)
    _, value, state = turn_critic(group, gamma=1.0)
    assert value[state[0]] == pytest.approx(exact_value(8, 0.5), abs=0.05)
    assert group.state is not None
    values = estimate("archer", group).values
    start = group.ordinal == 0
    halved = group.action == group.action[np.flatnonzero(start & (values > 0))[0]]
    assert (values[start & halved] > 0).all()  # halving beats asking for one
    assert (values[start & ~halved] < 0).all()


def test_a_first_question_whose_use_shows_later_gets_credit() -> None:
    """Ask, then answer: only who asked can answer well; the turn itself pays nothing."""
    group = Group.from_arrays(
        episode=[0, 0, 1, 1, 2, 2, 3, 3],
        rewards=[0, 1.0, 0, 1.0, 0, 0, 0, 0],
        state=["start", "knows"] * 2 + ["start", "does not"] * 2,
        action=["ask", "answer"] * 2 + ["skip", "answer"] * 2,
    )
    assert estimate("archer", group).values.tolist() == [0.5, 0, 0.5, 0, -0.5, 0, -0.5, 0]


def test_the_next_turn_is_the_seats_own() -> None:
    group = Group.from_arrays(episode=[0, 0, 0, 0, 1], seat=[0, 1, 0, 1, 0], rewards=np.zeros(5))
    assert next_turn(group).tolist() == [2, 3, -1, -1, -1]


def two_branches() -> Group:
    """From s: a leads to t where x pays 1 and y pays 0; b leads to u where z pays 0.2."""
    return Group.from_arrays(
        episode=[0, 0, 1, 1, 2, 2],
        rewards=[0, 1.0, 0, 0, 0, 0.2],
        state=["s", "t", "s", "t", "s", "u"],
        action=["a", "x", "a", "y", "b", "z"],
    )


def test_backed_up_q_is_that_of_the_best_child() -> None:
    found = estimate("qlass:gamma=0.5,normal=false", two_branches()).values
    assert found == pytest.approx([0.5, 1, 0.5, 0, 0.1, 0.2])
    unit = estimate("qlass", two_branches()).values
    assert unit == pytest.approx([1, 1, 1, 0, 0.2, 0.2])


def test_backed_up_q_is_for_one_player() -> None:
    with pytest.raises(palestra.InvalidOption, match="single decider"):
        estimate("qlass", drawn(0))
