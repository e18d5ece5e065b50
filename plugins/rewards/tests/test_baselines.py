"""Whose rollouts are compared: seats, agents, seeds, options, and what refused answers took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Decision, Turn, Usage
from palestra_rewards import Group, entries, estimate, shape
from reward_rollouts import drawn

TICTACTOE = "games/TicTacToe-v0"


def duels(wins: int = 8) -> Group:
    """A learner on seat 0 that wins every game of a task against a random player."""
    return Group.from_arrays(
        episode=np.repeat(np.arange(wins), 4),
        seat=np.tile([0, 1], 2 * wins),
        rewards=np.tile([0.0, 0.0, 1.0, -1.0], wins),
        agent=np.tile(["learner", "random"], 2 * wins),
    )


@pytest.mark.parametrize("name", ["rloo", "grpo", "dr-grpo", "reinforce:baseline=mean"])
def test_a_learner_that_always_wins_has_no_advantage(name: str) -> None:
    assert estimate(name, duels()).values.tolist() == [0.0] * 32


def test_a_baseline_may_pool_all_seats_of_a_task_where_that_is_wanted() -> None:
    pooled = estimate("rloo", duels().replace(compare_by=())).values
    assert pooled[:2] == pytest.approx([16 / 15, -16 / 15])


def test_seats_and_agents_can_be_left_out() -> None:
    records = palestra.rollouts(TICTACTOE, agents=["scripted", "random"], seed=3, n=4)
    whole = Group.of(records)
    by_agent, by_seat = Group.of(records, agents=["scripted"]), Group.of(records, seats=[0])
    own = whole.seat == 0
    for group in (by_agent, by_seat):
        assert group.episodes == whole.episodes
        assert set(group.seat.tolist()) == {0}
        np.testing.assert_array_equal(group.rewards, whole.rewards[own])
        np.testing.assert_array_equal(
            estimate("rloo", group).values, estimate("rloo", whole).values[own]
        )
    assert [len(one) for one in estimate("rloo", by_seat).per_episode()] == [
        sum(turn.seat == 0 for turn in record.turns) for record in records
    ]


def test_facts_are_left_out_with_their_turns_and_lines() -> None:
    group = drawn(0, facts={"by turn": range(drawn(0).size), "by line": range(drawn(0).lines)})
    second = group.only(seats=[1])
    assert second.fact("by turn") == np.flatnonzero(group.seat == 1).tolist()
    lines = np.flatnonzero(group.seat[group.line_first] == 1)
    assert second.fact("by line") == lines.tolist()


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"seats": [2]}, "seat 2 has no turn in these rollouts; seats with turns are 0, 1"),
        ({"agents": ["lerner"]}, "did you mean 'learner'"),
        ({"seats": [0], "agents": ["random"]}, "no turn is left"),
    ],
)
def test_seats_and_agents_that_are_not_there_are_named(
    chosen: dict[str, Any], message: str
) -> None:
    with pytest.raises(palestra.PalestraError, match=message):
        duels().only(**chosen)


def test_columns_to_compare_by_are_checked() -> None:
    with pytest.raises(palestra.InvalidOption, match="compare_by must hold only seat, agent, role"):
        Group.from_arrays(episode=[0], rewards=[1.0], compare_by=["team"])


# Estimators that read the others' rewards, values, decisions or judgements on purpose
TOGETHER = (
    "advantage-alignment",
    "advevo",
    "agentprm",
    "arena",
    "at-grpo",
    "comam",
    "counterfactual",
    "malt",
    "matpo",
    "qlass",
    "rae",
    "segment-chain",
    "segment-tree",
    "shapley",
    "step-q",
)
APART = [entry.name for entry in entries("group") if entry.name not in TOGETHER]


@pytest.mark.parametrize("name", [*APART, "reinforce:baseline=mean", "vspo:blend=1"])
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_opponents_change_nothing_in_a_learners_advantages(name: str, seed: int) -> None:
    """Two policies that change seats between episodes, over several tasks."""
    group = drawn(seed, episodes=16)
    swapped = np.random.default_rng(seed).integers(0, 2, group.episodes)[group.episode]
    names = np.array(["learner", "opponent"])[(group.seat + swapped) % 2]
    group = drawn(seed, episodes=16, agent=names)
    options: dict[str, Any] = {"ratings": np.ones((1, 2, 2))} if name == "dylan" else {}
    if name in ("archer", "turn-critic"):
        options = {"critic": "table"}
    own = names == "learner"
    alone = estimate(name, group.only(agents=["learner"]), **options).values
    np.testing.assert_allclose(estimate(name, group, **options).values[own], alone, atol=1e-9)


def tasks(records: Sequence[Any]) -> list[int]:
    return Group.of(records).task.tolist()


def test_seeds_and_options_are_tasks_of_their_own() -> None:
    seeds = palestra.play(TICTACTOE, agents=["random", "random"], episodes=4, seed=7)
    assert tasks(seeds) == [0, 1, 2, 3]
    small, large = (
        palestra.play("games/Gomoku-v0", agents=["random", "random"], seed=1, board_size=size)
        for size in (5, 6)
    )
    assert tasks([*small, *large, *small]) == [0, 1, 0]


def test_splits_are_tasks_of_their_own() -> None:
    (record,) = palestra.play(TICTACTOE, agents=["random", "random"])
    (other,) = palestra.play(TICTACTOE, agents=["random", "random"])
    record.tags["split"], other.tags["split"] = "train", "test"
    assert tasks([record, other]) == [0, 1]


@settings(max_examples=10)
@given(seeds=st.lists(st.integers(0, 3), min_size=1, max_size=4), n=st.integers(1, 3))
def test_siblings_share_a_task_and_no_others_do(seeds: list[int], n: int) -> None:
    agents = ["random", "random"]
    records = [r for s in seeds for r in palestra.rollouts(TICTACTOE, agents=agents, seed=s, n=n)]
    expected = [sorted(set(seeds), key=seeds.index).index(s) for s in seeds for _ in range(n)]
    assert tasks(records) == expected


class Fumbler(palestra.ScriptedAgent):
    """Answers `refusals[turn]` times with an illegal cell before it plays a legal one."""

    def __init__(self, refusals: Sequence[int] = (1,)) -> None:
        super().__init__(seed=0)
        self.refusals, self.left, self.turns = refusals, -1, 0
        self.name = "fumbler"

    def choose(self, turn: Turn) -> Decision:
        if self.left < 0:
            self.left = self.refusals[self.turns % len(self.refusals)]
            self.turns += 1
        illegal, self.left = self.left > 0, self.left - 1
        usage = Usage(tokens_in=100, tokens_out=50, calls=1, cost=0.25, seconds=2.0)
        return Decision(99 if illegal else turn.sample(self.rng), usage=usage)


@settings(max_examples=20)
@given(refusals=st.lists(st.integers(0, 3), min_size=1, max_size=5))
def test_refused_answers_cost_what_they_took(refusals: list[int]) -> None:
    (record,) = palestra.play(TICTACTOE, agents=[Fumbler(refusals), "random"], invalid="retry:3")
    group = Group.of([record], seats=[0])
    expected = np.resize(refusals, group.size)
    assert group.mistakes is not None
    assert group.tokens is not None
    assert group.mistakes.tolist() == expected.tolist()
    assert group.tokens.tolist() == (50 * (1 + expected)).tolist()
    assert group.cost == pytest.approx(0.25 * (1 + expected))
    assert group.seconds == pytest.approx(2.0 * (1 + expected))


def test_all_the_tokens_that_were_spent_are_counted() -> None:
    """Every answer is refused once: half of the tokens went into refused answers."""
    (record,) = palestra.play(TICTACTOE, agents=[Fumbler(), "random"], invalid="retry:1")
    group = Group.of([record], agents=["fumbler"])
    assert group.tokens is not None
    assert group.tokens.sum() == 2 * 50 * group.size
    mask = np.ones((1, 50 * group.size))  # of the answers that were played
    spread = estimate("reinforce", group).tokens(mask)
    assert spread.shape == mask.shape


def test_illegal_answers_are_paid_for() -> None:
    (record,) = palestra.play(TICTACTOE, agents=[Fumbler([0, 2]), "random"], invalid="retry:2")
    plain = Group.of([record])
    assert plain.mistakes is not None
    paid = shape("invalid-penalty:price=0.1", [record])
    np.testing.assert_allclose(paid, plain.rewards - 0.1 * plain.mistakes)
    assert set(plain.mistakes[plain.seat == 0].tolist()) == {0, 2}
    learner = plain.replace(rewards=paid).only(seats=[0])
    assert estimate("reinforce", learner).values[0] == pytest.approx(paid[plain.seat == 0].sum())


def test_a_forfeit_for_an_illegal_answer_is_a_mistake() -> None:
    (record,) = palestra.play(TICTACTOE, agents=[Fumbler([9]), "random"], invalid="forfeit")
    group = Group.of([record])
    assert group.mistakes is not None
    assert group.mistakes.tolist() == [1]
