"""Progressive stages that anneal, short answers, and tasks drawn by what they teach."""

from __future__ import annotations

import json
from collections import Counter
from math import exp

import numpy as np
import palestra
import pytest
from palestra import InvalidOption, Rng
from palestra_rewards import Group, shape
from palestra_rewards.episodes.staged import StageRates, anneal, short_bleu
from palestra_rewards.estimators.sampling import replaced_tasks
from palestra_rewards.task_sampling import sampled_rollouts
from test_episodes import record_of


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([0, 0, 0], [0.1, 0.2, 0.7]),
        ([1, 0, 0], [0, 0.3, 0.7]),
        ([0.5, 0.5, 0.9], [0.05, 0.125, 0.825]),  # .05 moves to .25, of which .125 moves on
        ([1, 1, 1], [0, 0, 1]),
    ],
)
def test_weights_of_stages_that_are_passed_move_on(rates: list, expected: list) -> None:
    found = anneal([0.1, 0.2, 0.7], rates)
    assert found == pytest.approx(expected)
    assert sum(found) == pytest.approx(1)


def test_rates_follow_what_was_passed_and_pay_the_next_batch() -> None:
    """By hand: 1 of 2 passed the first stage, then all; alpha is one half."""
    batches = [
        [record_of("a", stages=[1.0, 0.5, 0]), record_of("b", stages=[0.5, 0, 0])],
        [record_of("a", stages=[1.0, 1.0, 0.2])] * 2,
    ]
    rates = StageRates(alpha=0.5)
    assert rates.update(batches[0]) == [0, 0, 0]
    before = rates.update(batches[1])
    assert before == [0.5, 0, 0]
    assert rates.rates == [0.75, 0.5, 0]
    paid = shape("prs", batches[1][0], rates=before)
    assert paid.sum() == pytest.approx(0.05 + 0.25 + 0.2 * 0.7)
    again = StageRates(alpha=0.5)
    again.load(json.loads(json.dumps(rates.state())))
    assert again.update(batches[0]) == rates.update(batches[0])
    with pytest.raises(InvalidOption, match="rates must be 3 numbers from 0 to 1"):
        shape("prs", batches[1][0], rates=[0.5])
    with pytest.raises(InvalidOption, match="the same number of stages"):
        rates.update([record_of("a", stages=[1.0]), record_of("a", stages=[1.0, 1.0])])


@pytest.mark.parametrize(
    ("answer", "wanted", "expected"),
    [
        ("Paris", ["paris"], 1.0),
        ("in Paris", ["Paris"], 1 / 2),
        ("Paris", ["Paris France"], exp(-1)),
        ("the the the", ["the cat"], 0.0),  # no pair of words is right
        ("the cat", ["the cat sat", "a cat"], exp(-0.5)),
        ("a b c d e", ["a b c d f"], (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25),
        ("", ["Paris"], 0.0),
        ("Lima", [], 0.0),
    ],
)
def test_short_answers_are_scored_by_hand(answer: str, wanted: list[str], expected: float) -> None:
    assert short_bleu(answer, wanted) == pytest.approx(expected)


def test_tasks_are_drawn_in_proportion_to_their_value() -> None:
    """Success 1/2 is worth 1 and 1/4 is worth 3/4: the dead task goes to them as 4 to 3."""
    group = Group.from_arrays(
        episode=range(12),
        rewards=[1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        success=[1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0],
        task=np.repeat([0, 1, 2], 4),
    )
    drawn = Counter(
        int(replaced_tasks(group, Rng.seeded(seed), blend=0)[2]) for seed in range(2000)
    )
    assert drawn[0] / 2000 == pytest.approx(4 / 7, abs=0.03)
    assert set(drawn) == {0, 1}


def test_the_sampler_plays_more_of_tasks_that_differ() -> None:
    """Nine games against chance for five starts: no task without a spread is left."""
    asked = {"agents": ["random", "first"], "learners": ["random"]}
    n, seeds = 3, [1, 2, 3, 4, 5]
    plain = [
        record
        for seed in seeds
        for record in palestra.rollouts(
            "games/TicTacToe-v0", agents=asked["agents"], n=n, seed=seed
        )
    ]
    records = sampled_rollouts("games/TicTacToe-v0", seeds=seeds, n=n, round=1, **asked)
    assert len(records) == len(plain) == n * len(seeds)
    for rounds in range(1, 5):
        batch = sampled_rollouts("games/TicTacToe-v0", seeds=seeds, n=n, round=rounds, **asked)
        group = Group.of(batch, agents=["random"])
        for task in range(int(group.task.max()) + 1):
            assert np.ptp(group.returns[group.line_task == task]) > 0
        played = Counter(record.seed for record in batch)
        assert all(count % n == 0 for count in played.values())
        lines = [[turn.action for turn in one.turns] for one in batch]
        assert len({str(line) for line in lines}) > n * len(seeds) / 2
    again = sampled_rollouts("games/TicTacToe-v0", seeds=seeds, n=n, round=1, **asked)
    assert [r.turns[0].action for r in again] == [r.turns[0].action for r in records]


def test_where_nothing_differs_all_tasks_are_kept() -> None:
    records = sampled_rollouts("games/TicTacToe-v0", agents="first", seeds=[1, 2], n=2)
    assert [record.seed for record in records] == [1, 1, 2, 2]
    with pytest.raises(InvalidOption, match="n must be 2 or more"):
        sampled_rollouts("games/TicTacToe-v0", agents="first", seeds=[1, 1], n=2)
