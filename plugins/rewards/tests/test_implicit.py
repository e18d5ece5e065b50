"""The implicit process reward model that `oprl` trains: closed forms, and real play."""

from __future__ import annotations

import json

import numpy as np
import palestra
import pytest
from palestra_rewards import Group, Lacking, estimate, estimator
from palestra_rewards.estimators.process import Oprl
from palestra_rewards.learnt.implicit import better_pairs


def four_duels(**more: object) -> Group:
    """Four tasks, one decision: a beats b in three of them, b beats a in one."""
    return Group.from_arrays(
        episode=range(8),
        task=[0, 0, 1, 1, 2, 2, 3, 3],
        state=["s"] * 8,
        action=["a", "b"] * 4,
        rewards=[1.0, 0, 1.0, 0, 1.0, 0, 0, 1.0],
        **more,
    )


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_the_implicit_model_fits_the_odds_of_winning(beta: float) -> None:
    """DPO's optimum: beta * (ratio of a - ratio of b) is the log-odds that a wins, log 3."""
    paid = Oprl(beta=beta, steps=1500).step_rewards(four_duels())
    chance = 3 ** (1 / beta) / (1 + 3 ** (1 / beta))
    expected = beta * np.log([chance / 0.5, (1 - chance) / 0.5])
    np.testing.assert_allclose(paid, np.tile(expected, 4), atol=1e-4)


def test_the_reference_are_the_rollouts_own_chances_where_they_are_known() -> None:
    """By hand: log-odds of pi_phi are log 3 + log(0.8 / 0.2), so that it plays a with 12 of 13."""
    group = four_duels(logprob=np.log(np.tile([0.8, 0.2], 4)))
    paid = Oprl(beta=1.0, steps=3000).step_rewards(group)
    expected = np.log([12 / 13 / 0.8, 1 / 13 / 0.2])
    np.testing.assert_allclose(paid, np.tile(expected, 4), atol=1e-3)


def test_pairs_are_of_one_task_seat_and_agent() -> None:
    better, worse = better_pairs(np.array([1.0, 0, 2, 2, 5]), np.array([0, 0, 0, 0, 1]))
    pairs = sorted(zip(better.tolist(), worse.tolist(), strict=True))
    assert pairs == [(0, 1), (2, 0), (2, 1), (3, 0), (3, 1)]
    assert all(part.size == 0 for part in better_pairs(np.ones(3), np.zeros(3, dtype=np.int64)))


def test_the_step_that_decides_is_paid_and_shared_steps_are_not() -> None:
    """Whoever takes the key wins; all look first and open last, and these tell nothing apart."""
    taken = [True, False, True, False, False]
    group = Group.from_arrays(
        episode=np.repeat(np.arange(5), 3),
        state=["hall", "room", "door"] * 5,
        action=[x for key in taken for x in ("look", "take" if key else "pass", "open")],
        rewards=[x for key in taken for x in (0, 0, float(key))],
    )
    paid = Oprl().step_rewards(group).reshape(5, 3)
    np.testing.assert_allclose(paid[:, [0, 2]], 0, atol=1e-12)
    assert (paid[taken, 1] > 0.01).all()
    assert (paid[np.logical_not(taken), 1] < -0.01).all()
    advantages = estimate("oprl", group).values.reshape(5, 3)
    outcome = estimate("grpo", group).values.reshape(5, 3)
    steps = (paid - paid.mean()) / paid.std()
    np.testing.assert_allclose(advantages, outcome + steps)


@pytest.mark.parametrize("features", ["observation", ""])
def test_real_play_trains_the_model_towards_who_won(features: str) -> None:
    """Twelve and seven duels of two starts: better lines come to have larger sums than worse."""
    records = [
        record
        for seed, n in ((1, 12), (2, 7))
        for record in palestra.rollouts(
            "games/TicTacToe-v0", agents=["random", "first"], n=n, seed=seed
        )
    ]
    chain = estimator("oprl", features=features)
    learner = Group.of(records, agents=["random"], features=features)
    group = chain(learner).group
    assert np.unique(group.task).size == 2
    model = chain.links[0].run
    sums = group.line_sum(model.step_rewards(group))
    better, worse = better_pairs(group.returns, group.peers)
    assert better.size > 20
    assert (sums[better] > sums[worse]).mean() > 0.8
    saved = json.loads(json.dumps(chain.state()))
    again = estimator("oprl", features=features)
    again.load(saved)
    np.testing.assert_array_equal(*(one(group).values for one in (chain, again)))


def test_opponents_change_nothing_in_the_learners_implicit_rewards() -> None:
    records = palestra.rollouts("games/TicTacToe-v0", agents=["random", "first"], n=9, seed=4)
    both, mine = Group.of(records), Group.of(records, agents=["random"])
    found = Oprl().step_rewards(both)[both.seat == 0]
    np.testing.assert_allclose(found, Oprl().step_rewards(mine), atol=1e-12)


def test_without_states_there_is_nothing_to_train_on() -> None:
    with pytest.raises(Lacking, match="record states and actions, from which a model is trained"):
        estimate("oprl", Group.from_arrays(episode=[0, 1], rewards=[0.0, 1.0]))
