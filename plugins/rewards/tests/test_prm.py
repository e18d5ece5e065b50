"""AgentPRM's model: soft targets by cross-entropy, and what it is used for."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra_rewards import shape
from palestra_rewards.episodes.valued import best_of
from palestra_rewards.learnt.prm import ProcessRewardModel


def blank(game: Any, state: Any, seat: int) -> list[float]:
    return [1.0]


def test_the_model_fits_the_mean_label_of_each_decision_and_cannot_do_better_than_entropy() -> None:
    """One state, two moves: cross-entropy on soft labels is least at the labels' mean.

    Its value there is the mean of -m log p - (1 - m) log(1 - p), above 0 although all is fitted.
    """
    records = palestra.rollouts(
        "games/MatrixGame-v0", agents="random", n=24, seed=1, max_episode_steps=1
    )
    made = np.array([turn.text for record in records for turn in record.turns])
    low, high = -5.0, 10.0
    model = ProcessRewardModel(low=low, high=high, features=blank, steps=400, rate=0.1)
    label = model.targets(records)
    assert 0 < label.min() < label.max() < 1
    model.fit(records)
    found = np.concatenate([model(record) for record in records])
    entropy = 0.0
    for move in set(made):
        mean = label[made == move].mean()
        assert found[made == move] == pytest.approx(low + (high - low) * mean, abs=0.02)
        entropy -= (made == move).mean() * (mean * log(mean) + (1 - mean) * log(1 - mean))
    assert len(set(made)) == 2
    assert model.loss == pytest.approx(entropy, abs=1e-4)


def test_a_fitted_model_is_a_process_reward_and_picks_the_best_of_n() -> None:
    options: dict[str, Any] = {"slippery": False}
    records = palestra.rollouts("games/FrozenLake-v0", agents="random", n=24, seed=3, **options)
    won = [record.returns[0] > 0 for record in records]
    assert any(won)
    model = ProcessRewardModel(steps=300).fit(records)
    paid = shape("agentrm", records, scores=model)
    assert ((paid >= 0) & (paid <= 1)).all()
    assert won[best_of(records, model)]
    twin = ProcessRewardModel(steps=300).load(model.state())
    assert twin(records[0]).tolist() == model(records[0]).tolist()


def test_returns_outside_the_bounds_and_a_model_without_a_fit_are_named() -> None:
    records = palestra.rollouts("games/Quest-v0", agents="random", n=2, max_episode_steps=3)
    with pytest.raises(InvalidOption, match="not fitted yet"):
        ProcessRewardModel()(records[0])
    with pytest.raises(InvalidOption, match="low must be below high"):
        ProcessRewardModel(low=1, high=1)
    with pytest.raises(InvalidOption, match="pass low= and high="):
        ProcessRewardModel(low=5, high=6).fit(records)
