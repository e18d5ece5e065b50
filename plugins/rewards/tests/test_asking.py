"""A user in the loop: who is asked what, and what an agent comes to do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord, InvalidOption
from palestra_rewards import shape
from palestra_rewards.episodes.intents import trajectory
from palestra_rewards.learnt.asking import TaughtRewardModel, at_terminal, by_worth, teach

pytest.importorskip("torch")
LAKE: dict[str, Any] = {"layout": ("SFFF", "FFFF", "FFFF", "FFFG"), "slippery": False}


def lake(agent: Any, number: int, seed: int) -> list[EpisodeRecord]:
    return palestra.rollouts(
        "games/FrozenLake-v0", agents=agent, n=number, seed=seed, max_episode_steps=5, **LAKE
    )


def downs(record: EpisodeRecord) -> float:
    """What this user wants, which the environment does not pay for: going down, again and again."""
    return float(sum(turn.text == "down" for turn in record.turns))


class Learner:
    """Plays each move as often as the best quarter of its last episodes did (cross-entropy)."""

    def __init__(self) -> None:
        self.moves: list[str] = []

    def agent(self) -> palestra.Agent:
        def choose(turn: palestra.Turn) -> Any:
            rng = turn.rng(3, 3)
            if not self.moves:
                return turn.sample(rng)
            return turn.parse(self.moves[rng.word() % len(self.moves)])

        return palestra.FunctionAgent(choose)

    def train(self, records: Sequence[EpisodeRecord], paid: Any) -> None:
        best = np.argsort(-np.asarray(paid))[: len(records) // 4]
        self.moves = [turn.text for place in best for turn in records[place].turns]


def test_an_agent_comes_to_do_what_its_user_wants() -> None:
    """The environment pays nothing in these five steps; all that the agent learns is the user's."""
    model, learner = TaughtRewardModel(by_worth(downs), task="go down", steps=20), Learner()
    wanted: list[float] = []

    def play(number: int) -> list[EpisodeRecord]:
        records = lake(learner.agent(), 40, 100 + number)
        assert not any(record.returns[0] for record in records)
        wanted.append(float(np.mean([downs(record) for record in records])))
        return records

    for _ in teach(model, play, learner.train, rounds=3, questions=12):
        pass
    assert model.asked <= 36  # fewer where episodes read the same
    assert wanted[0] < 1.9  # one in four of five
    assert wanted[-1] > wanted[0] + 1
    fresh = lake("random", 30, 7)
    worth = [downs(record) for record in fresh]
    assert np.corrcoef(model.scores(fresh), worth)[0, 1] > 0.8
    paid = shape("user-model", fresh[0], scores=model)
    assert paid.sum() == paid[-1] == pytest.approx(model.scores(fresh[:1])[0])
    again = TaughtRewardModel(by_worth(downs), task="go down")
    again.load(model.state())
    assert again.scores(fresh) == pytest.approx(model.scores(fresh))


def test_the_user_is_asked_where_the_members_disagree() -> None:
    model, records = TaughtRewardModel(by_worth(downs)), lake("random", 10, 3)
    table = model.members(records)
    spread = {(a, b): (table[:, a] - table[:, b]).std() for a, b in combinations(range(10), 2)}
    first, *more = model.choose(records, 3)
    assert spread[first] == max(spread.values())
    assert len({place for pair in (first, *more) for place in pair}) == 6
    assert model.choose([records[0], records[0]], 1) == []
    tie = TaughtRewardModel(lambda first, second, notes: 0.5)
    assert tie.update(records, 2) == 0.0
    assert tie.asked == 2
    with pytest.raises(InvalidOption, match="from 0 to 1"):
        TaughtRewardModel(lambda first, second, notes: 7.0).update(records, 1)


def test_helpers_write_what_the_user_judges_by() -> None:
    """Recursive reward modelling: a taught model reads the episodes for another one's user."""
    inner, records = TaughtRewardModel(by_worth(downs), steps=20), lake("random", 24, 5)
    for _ in range(3):
        inner.update(records, 12)

    def user(first: EpisodeRecord, second: EpisodeRecord, notes: tuple[Any, Any]) -> float:
        return float(float(notes[0]["downs"]) > float(notes[1]["downs"]))

    outer = TaughtRewardModel(
        user, steps=20, helpers={"downs": lambda record: inner.scores([record])[0]}
    )
    for _ in range(3):
        outer.update(records, 12)
    fresh = lake("random", 30, 9)
    worth = [downs(record) for record in fresh]
    assert np.corrcoef(outer.scores(fresh), worth)[0, 1] > 0.6


def test_a_person_at_the_terminal_sees_both_episodes() -> None:
    shown: list[str] = []
    said = iter(["first", " 2 "])
    user = at_terminal(read=lambda _: next(said), show=shown.append)
    one, other = lake("random", 2, 1)
    assert user(one, other, ({"helper": "short"}, {})) == 0.0
    assert shown[0] == f"--- Episode 1\n{trajectory(one)}"
    assert shown[1] == "helper: short"
    assert shown[-1] == "'first' is none of 1, 2 and ="
