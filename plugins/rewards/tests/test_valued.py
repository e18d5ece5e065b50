"""Models of what beginnings are worth, and of whose turn it is; likeness of objects to a goal."""

from __future__ import annotations

import json

import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord
from palestra.agents.models import Request
from palestra_rewards import Group, estimate, shape
from palestra_rewards.episodes.objects import likeness
from palestra_rewards.episodes.valued import Likeness, ValueModel, best_of
from palestra_rewards.estimators.tree import step_pairs
from palestra_rewards.judges import Judge
from palestra_rewards.tabular import epic_distance
from test_episodes import kuhn, record_of


def keys_so_far(record: EpisodeRecord) -> list[float]:
    return np.cumsum([turn.text == "key" for turn in record.turns], dtype=float).tolist()


def test_reward_models_of_three_kinds_pick_the_best_of_n() -> None:
    """AgentRM: one interface over a fitted, an implicit and a judging model; all agree here."""
    rng = np.random.default_rng(0)
    words = np.array(["look", "key", "wait"])
    records = [record_of(*rng.choice(words, 5).tolist()) for _ in range(40)]
    model = ValueModel(buckets=64).fit(records, keys_so_far)
    np.testing.assert_allclose(
        shape("agentrm", records, scores=model),
        np.concatenate([keys_so_far(record) for record in records]),
        atol=0.01,
    )
    again = ValueModel()
    again.load(model.state())
    offered = [record_of("wait", "key"), record_of("key", "key"), record_of("look", "look")]
    for record in offered:
        record.tags["implicit"] = [0.5 * (turn.text == "key") for turn in record.turns]

    def reader(request: Request) -> str:
        text = request.messages[-1].content.split("\n\n")[0]
        return ("no", "maybe", "yes")[text.count("key")]

    assert best_of(offered, again) == best_of(offered) == best_of(offered, Judge(reader)) == 1
    assert shape("agentrm", offered[0]).tolist() == [0, 0.5]
    assert shape("agentrm", offered[1], scores=Judge(reader)).tolist() == [0.5, 1]
    with pytest.raises(palestra.InvalidOption, match="seat 3 has no turn in a record"):
        best_of(offered, seat=3)


def test_a_value_model_without_values_learns_what_was_paid() -> None:
    records = [record_of("key", "door", paid=1.0), record_of("wait", "door", paid=0.0)]
    found = shape("agentrm", records, scores=ValueModel(buckets=64, ridge=1e-6).fit(records))
    np.testing.assert_allclose(found, [1, 1, 0, 0], atol=1e-4)


def decided(*choices: int) -> EpisodeRecord:
    """One decision a turn, in states named by the turn."""
    record = record_of(*map(str, choices))
    for place, (turn, choice) in enumerate(zip(record.turns, choices, strict=True)):
        turn.state_key, turn.action = f"s{place}", choice
    return record


def test_the_odds_of_known_players_are_the_ratio_of_their_chances() -> None:
    """A discriminator at its optimum is D = p / (p + q) of the two players' chances."""
    expert = [decided(0)] * 6 + [decided(1)] * 2
    agent = [decided(0)] * 3 + [decided(1)] * 9
    model = Likeness(ridge=1e-9).fit(expert, agent)
    found = shape("stepagent-inverse", [decided(0), decided(1), decided(2)], scores=model)
    expected = [np.log((6 / 8) / (3 / 12)), np.log((2 / 8) / (9 / 12)), 0.0]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    again = Likeness(buckets=7)
    again.load(json.loads(json.dumps(model.state())))
    np.testing.assert_array_equal(again(decided(0)), found[:1])


def test_rewards_of_an_inverse_model_are_those_its_q_implies() -> None:
    """InversePRM: r = Q(s, a) - gamma Q(s', a'), on recorded play, by the other estimator."""
    first = palestra.play("games/KuhnPoker-v0", agents=["first", "first"], episodes=20)
    model = Likeness(gamma=0.9).fit(first, kuhn(40))
    quality = Likeness(gamma=0.0)
    quality.load(model.state())
    records = kuhn(10)
    group = Group.of(records).with_facts(values=shape("stepagent-inverse", records, scores=quality))
    np.testing.assert_allclose(
        shape("stepagent-inverse", records, scores=model),
        estimate("inverse-prm:gamma=0.9", group).values,
    )
    own = shape("stepagent-inverse", first, scores=model)
    assert own.mean() > shape("stepagent-inverse", records, scores=model).mean()


GOAL = {"door": {"open": True, "colour": "red"}, "lamp": {"level": 4}}


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (GOAL, 1.0),
        ({"door": {"open": False, "colour": "red"}, "lamp": {"level": 4}}, 0.75),
        ({"door": {"open": True, "colour": "red"}, "lamp": {"level": 3}}, 0.875),
        ({"door": {"open": True, "colour": "red"}}, 0.5),
        ({"lamp": {}, "door": {}}, 0.0),
        ({}, 0.0),
    ],
)
def test_a_state_is_as_near_as_its_objects_attributes(
    state: dict[str, dict[str, object]], expected: float
) -> None:
    """StateFactory's two levels: objects matched by name, then attributes under that match."""
    assert likeness(state, GOAL) == pytest.approx(expected)


def test_rises_of_likeness_telescope() -> None:
    states = [{"lamp": {"level": 1}}, {"lamp": {"level": 3}}, GOAL]
    record = record_of("a", "b", "c", objects=states, goal=GOAL)
    assert shape("statefactory", record).tolist() == pytest.approx([0.125, 0.375, 1])
    assert shape("statefactory", record, rise=True).sum() == pytest.approx(1)
    with pytest.raises(palestra.InvalidOption, match="at least one object"):
        likeness(GOAL, {})


@pytest.mark.parametrize("seed", range(5))
def test_epic_distance_ignores_potentials_and_scale(seed: int) -> None:
    """Gleave et al. (2021): 0 for shaped and scaled rewards, 1 for the opposite."""
    rng = np.random.default_rng(seed)
    reward, potential, gamma = rng.normal(size=(6, 3, 6)), rng.normal(size=6), 0.9
    shaped = 3 * reward + gamma * potential[None, None, :] - potential[:, None, None] + 2
    assert epic_distance(reward, shaped, gamma) == pytest.approx(0, abs=1e-6)
    assert epic_distance(reward, -shaped, gamma) == pytest.approx(1)
    other = rng.normal(size=(6, 3, 6))
    assert 0.3 < epic_distance(reward, other, gamma) < 1
    with pytest.raises(palestra.InvalidOption, match="one shape"):
        epic_distance(reward, shaped - 3 * reward, gamma)


def test_best_and_worst_decisions_of_a_node_are_told_apart() -> None:
    """Step-level Q: means of outcomes, by hand; no label where all decisions are worth the same."""
    group = Group.from_arrays(
        episode=[0, 0, 1, 1, 2, 2, 3, 3],
        rewards=[0, 1.0, 0, 0.0, 0, 0.4, 0, 0.4],
        state=["s", "t", "s", "t", "s", "u", "s", "v"],
        action=["a", "b", "a", "c", "d", "e", "f", "g"],
    )
    labels = estimate("step-q", group).values
    assert labels.tolist() == [1, 1, 1, -1, -1, 0, -1, 0]  # Q: a 0.5; d and f 0.4
    assert step_pairs(group) == [(0, 4), (1, 3)]
    even = group.replace(rewards=np.tile([0, 0.5], 4))
    assert not estimate("step-q", even).values.any()
