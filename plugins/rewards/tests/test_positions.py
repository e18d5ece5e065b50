"""AgentRM: a reward model of positions, fitted to a search's returns, and used by one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra_adapters.search.agents import BeamSearch, BestOfN
from palestra_rewards import Group, shape
from palestra_rewards.episodes.valued import best_of
from palestra_rewards.learnt.positions import PositionModel

ONE = {"rows": 4, "columns": 4, "num_fruits": 1, "sight": 4, "max_steps": 12}


def away(game: Any, state: Any, seat: int) -> list[float]:
    """One column for every number of steps to the only fruit; none once it is eaten."""
    places = game.observe(state, seat).reshape(-1, 2)
    row = [0.0] * 8
    if places[1, 0] >= 0:
        row[int(np.abs(places[0] - places[1]).sum())] = 1.0
    else:
        row[7] = 1.0
    return row


def walks(n: int, seed: int) -> list[palestra.EpisodeRecord]:
    return palestra.play("grid/Fruit-v0", agents=["random"], episodes=n, seed=seed, **ONE)


def test_a_linear_model_of_distances_learns_their_mean_returns() -> None:
    """The oracle counts, in a plain loop, how often the fruit is eaten from each distance on."""
    records = walks(120, seed=0)
    model = PositionModel(features=away, hidden=0, steps=1200, rate=0.05)
    group = Group.of(records)
    model.fit(records, group.spread(group.returns).tolist())
    steps: dict[int, list[float]] = {}
    for record in records:
        for turn, seen in zip(record.turns, faced(record), strict=False):
            steps.setdefault(int(np.argmax(seen)), []).append(record.returns[0])
            assert turn.seat == 0
    for distance, returns in steps.items():
        row = np.eye(8)[distance]
        assert model.worth([row])[0] == pytest.approx(np.mean(returns), abs=0.02)
    near, far = (float(np.mean(steps[distance])) for distance in (1, 5))
    assert near > far


def faced(record: palestra.EpisodeRecord) -> list[list[float]]:
    from palestra.records.record import retrace

    states = [(episode.game, away(episode.game, episode.state, 0)) for episode in retrace(record)]
    return [seen for _, seen in states[:-1]]


def fitted(**more: Any) -> PositionModel:
    """A model of the worth of nodes: thirty rollouts of each of several starts."""
    records = [
        record
        for seed, n in enumerate((30, 20, 30, 10, 30, 40, 30, 30))
        for record in palestra.rollouts("grid/Fruit-v0", agents="random", n=n, seed=seed, **ONE)
    ]
    return PositionModel(features=away, hidden=0, steps=800, rate=0.05, **more).fit(records)


@pytest.mark.parametrize("kind", ["bestof", "beam"])
def test_searches_take_the_model_as_their_scorer(kind: str) -> None:
    """Moves by the model go straight to the fruit, from starts it never saw."""
    model = fitted()
    echo = palestra.open_model("echo:0")
    agent = (
        BestOfN(model=echo, n=5, scorer=model)
        if kind == "bestof"
        else BeamSearch(model=echo, width=5, depth=2, keep=3, scorer=model)
    )
    records = palestra.play("grid/Fruit-v0", agents=[agent], episodes=6, seed=100, **ONE)
    best = palestra.play("grid/Fruit-v0", agents=["fruit-picker"], episodes=6, seed=100, **ONE)
    steps = [len(record.steps) for record in records]
    shortest = [len(record.steps) for record in best]
    # one move ahead can stay on a hill of the model; two moves ahead never do here
    assert sum(a == b for a, b in zip(steps, shortest, strict=True)) >= 5 + (kind == "beam")


def test_the_best_of_n_records_is_one_that_came_near() -> None:
    model = fitted()
    offered = walks(12, seed=50)
    scores = [shape("agentrm", record, scores=model)[-1] for record in offered]
    chosen = offered[best_of(offered, model)]
    assert scores[offered.index(chosen)] == max(scores)
    assert chosen.returns[0] == max(record.returns[0] for record in offered) == 1


def test_several_seats_words_and_what_is_kept() -> None:
    records = palestra.rollouts("games/TicTacToe-v0", agents=["random", "first"], n=9, seed=2)
    model = PositionModel(steps=30).fit(records)
    again = PositionModel(steps=30).load(json.loads(json.dumps(model.state())))
    np.testing.assert_array_equal(again(records[3]), model(records[3]))
    assert again(records[3]).shape == (len(records[3].turns),)
    with pytest.raises(InvalidOption, match="not fitted yet"):
        PositionModel()(records[0])
    with pytest.raises(InvalidOption, match="values must be one for each of"):
        PositionModel().fit(records, [1.0])
