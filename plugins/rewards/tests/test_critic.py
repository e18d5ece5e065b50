"""Critics fitted to rollouts, on games whose values are known."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import palestra
import pytest
from palestra_rewards import Group, estimate, estimator
from palestra_rewards.estimators.critic import Archer, next_turn, turn_critic
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
    np.testing.assert_allclose(estimate("archer:critic=table", group).values, 0, atol=1e-9)


def test_the_turn_critic_converges_to_the_value_of_a_mixed_player() -> None:
    group = twenty_questions(6000, seed=1, split=0.5)
    _, value, state = turn_critic(group, gamma=1.0)
    assert value[state[0]] == pytest.approx(exact_value(8, 0.5), abs=0.05)
    assert group.state is not None
    values = estimate("archer:critic=table", group).values
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
    expected = [0.5, 0, 0.5, 0, -0.5, 0, -0.5, 0]
    assert estimate("archer:critic=table", group).values.tolist() == expected
    learnt = estimate("archer:hidden=0,rate=0.05", group).values
    np.testing.assert_allclose(learnt, expected, atol=0.02)


def test_the_learnt_critic_values_a_mixed_player_like_the_recursion() -> None:
    """V of eight items by the exact recursion, which neither solver nor network knows."""
    group = twenty_questions(1500, seed=1, split=0.5)
    quality, values = Archer(rate=0.02).values(group)
    start = group.ordinal == 0
    assert values[start].mean() == pytest.approx(exact_value(8, 0.5), abs=0.15)
    table = estimate("archer:critic=table", group).values
    halved = group.action == group.action[np.flatnonzero(start & (table > 0))[0]]
    assert (
        (quality - values)[start & halved].mean() > 0 > (quality - values)[start & ~halved].mean()
    )


@pytest.mark.parametrize("expectile", [0.5, 0.9])
def test_an_expectile_values_a_state_by_its_better_actions(expectile: float) -> None:
    """Of 0 and 1, equally often, the expectile e is e: e (1 - v) = (1 - e) v."""
    group = Group.from_arrays(
        episode=range(4), rewards=[0, 1.0, 0, 1.0], state=["s"] * 4, action=["a", "b"] * 2
    )
    values = Archer(expectile=expectile, hidden=0, rate=0.05).values(group)[1]
    np.testing.assert_allclose(values, expectile, atol=0.01)


def test_nothing_is_learnt_from_where_a_line_was_cut_off() -> None:
    """By hand: s is worth 1 by the line that ended; the cut one says nothing of its last turn."""
    group = Group.from_arrays(
        episode=[0, 0, 1, 1],
        rewards=[0.0, 1.0, 0.0, -5.0],
        state=["s", "t", "s", "t"],
        action=["a", "b", "a", "c"],
        truncated=[False, True],
    )
    for name in ("archer:critic=table", "archer:hidden=0,rate=0.05"):
        np.testing.assert_allclose(estimate(name, group).values, 0, atol=0.02)


def test_a_turn_critic_with_lambda_one_takes_the_mean_return_of_a_state_off() -> None:
    group = twenty_questions(200, seed=3, split=0.5)
    assert group.state is not None
    to_go = group.to_go()
    # the table's V is consistent from step to step, and so is the mean of states met once a game
    _, value, state = turn_critic(group, gamma=1.0)
    found = estimate("turn-critic:critic=table,lam=1", group).values
    np.testing.assert_allclose(found, to_go - value[state])
    step = estimate("turn-critic:critic=table,lam=0", group).values
    after = np.append(value[state][1:], 0) * (next_turn(group) >= 0)
    np.testing.assert_allclose(step, group.rewards + after - value[state])
    learnt = estimate("turn-critic:lam=1,rate=0.02", group).values
    np.testing.assert_allclose(learnt, found, atol=0.5)


def noisy_walks(seed: int, games: int = 60) -> Group:
    """A state is a place from 0 to 1, shown as features; a turn pays the place it is played at."""
    rng = np.random.default_rng(seed)
    place = rng.random(games)
    return Group.from_arrays(
        episode=range(games),
        rewards=place,
        state=range(games),
        action=[0] * games,
        facts={
            "state features": np.stack([place, np.ones(games)], axis=1),
            "action features": np.ones((games, 1)),
        },
    )


def test_features_are_learnt_from_call_to_call_and_carried_on() -> None:
    """No state comes up twice: only a function of features can value the next call's."""
    chain = estimator("archer:hidden=0,steps=300,rate=0.05")
    for seed in range(3):
        chain(noisy_walks(seed))
    critic = chain.links[0].run
    (learnt,) = critic.critics.values()
    unseen = np.array([[0.1, 1.0], [0.9, 1.0]])
    np.testing.assert_allclose(learnt.value(unseen), [0.1, 0.9], atol=0.02)
    assert learnt.held.size == 180
    again = estimator("archer:hidden=0,steps=300,rate=0.05")
    again.load(json.loads(json.dumps(chain.state())))
    for one in (chain, again):
        one(noisy_walks(7))
    np.testing.assert_array_equal(*(one(noisy_walks(8)).values for one in (chain, again)))


def test_real_play_is_valued_by_its_words_and_opponents_change_nothing() -> None:
    """Two foragers; eight and five rollouts of two starts; the learner's critic is its own."""
    records = [
        record
        for seed, n in ((1, 8), (2, 5))
        for record in palestra.rollouts(
            "grid/Foraging-v0", agents=["random", "first"], n=n, seed=seed, max_episode_steps=12
        )
    ]
    name = "archer:features=words,steps=60"
    both = estimate(name, records)
    alone = estimate(name, Group.of(records, agents=["random"], features="words"))
    mine = both.values[both.group.seat == 0]
    assert np.isfinite(both.values).all()
    assert mine.std() > 0
    np.testing.assert_allclose(alone.values, mine, atol=1e-9)
    again = estimate(name, records)
    np.testing.assert_array_equal(again.values, both.values)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["archer", "turn-critic", "oprl"])
def test_networks_give_numbers_for_any_rollouts(name: str, seed: int) -> None:
    """Cut-off lines, lone rollouts, seats that never end; constant rewards too."""
    group = drawn(seed, facts={})
    for rewards in (group.rewards, np.full(group.size, 1e3)):
        found = estimate(name, group.replace(rewards=rewards), steps=5).values
        assert np.isfinite(found).all()


@pytest.mark.parametrize("name", ["archer", "turn-critic", "oprl"])
def test_without_torch_the_extra_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(palestra.MissingExtra, match=r"palestra-rewards\[torch\]"):
        estimate(name, drawn(0, facts={}))
    if name != "oprl":
        assert estimate(f"{name}:critic=table", drawn(0, facts={})).values.any()


def test_features_of_a_function_are_vectors_of_one_size() -> None:
    records = palestra.rollouts("games/TicTacToe-v0", agents="random", n=3, seed=1)
    seen = Group.of(records, features="observation").fact("state features")
    assert len(seen) == sum(len(record.turns) for record in records)
    with pytest.raises(palestra.InvalidOption, match="one size for all turns"):
        Group.of(records, features=lambda game, state, seat: [0.0] * (1 + seat))


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
