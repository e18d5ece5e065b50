"""Shared memory: answers and own rewards by hand, coverage in closed form."""

from __future__ import annotations

import numpy as np
import palestra
import pytest
from palestra import Rng
from palestra.records.shared_measures import last_fact
from palestra_envs.text.shared_memory import Keep, Recall, SharedMemory, Skip, Talk

ID = "text/SharedMemory-v0"


def test_the_last_word_counts_and_both_are_paid() -> None:
    game = SharedMemory(remarks=4, slots=2, questions=3)
    state = Talk(Rng(0), ((0, 1), (5, 2), (0, 3), (6, 0)), (0, 5, 6), (-1, -1))
    for action in (Keep(1), Keep(2), Skip(), Skip()):
        game.step(state, {0: action})
    assert game.to_act(state) == (1,)
    assert not game.step(state, {1: Recall(1)}).rewards  # the job has changed since
    assert game.local(state) == [0.0, 0.0]
    paid = game.step(state, {1: Recall(2)}).rewards
    assert paid == {0: {"answers": pytest.approx(1 / 3)}, 1: {"answers": pytest.approx(1 / 3)}}
    assert game.local(state) == [0.5, 1.0]
    game.step(state, {1: Recall(2)})
    assert game.local(state) == pytest.approx([1 / 3, 1.0])
    assert game.outcome(state).scores == pytest.approx((1 / 3, 1 / 3))  # type: ignore[union-attr]


def test_what_is_kept_covers_its_share_of_the_questions() -> None:
    """Questions are drawn evenly from the facts mentioned, so coverage is slots / facts."""
    records = palestra.play(ID, agents="memory-keeper", episodes=150, questions=20)
    facts = [
        len({key for key, _ in SharedMemory(questions=20).initial_state(r.seed).remarks})
        for r in records
    ]
    expected = np.minimum(1.0, 5 / np.array(facts))
    found = np.array([record.returns[0] for record in records])
    deviation = np.sqrt((expected * (1 - expected) / 20).sum()) / 150
    assert found.mean() == pytest.approx(expected.mean(), abs=4 * deviation)
    for record in records:
        local = last_fact(record, "local")
        assert local == pytest.approx([record.returns[0], 1.0 if record.returns[0] else 0.0])


def test_measures_tell_what_the_records_hold() -> None:
    (record,) = palestra.play(ID, agents="memory-keeper", seed=2)
    assert palestra.measure(record)["memory-coverage"] == last_fact(record, "local")[0]
    (talk,) = palestra.play("text/Advice-v0", agents="advice-seeker", seed=2)
    measured = palestra.measure(talk)
    assert measured["questions-asked"] == len(talk.steps) - 1
    assert measured["type-known"] == last_fact(talk, "belief")[talk.facts["type"]]
    (work,) = palestra.play("text/MLEngineering-v0", agents="ml-engineer", seed=2, noise=0.0)
    assert palestra.measure(work)["test-accuracy"] >= 0.85
    (pitch,) = palestra.play("grid/CarBall-v0", agents="scripted", seed=1, num_players=2)
    assert pitch.outcome is not None
    scored = pitch.outcome.results[0] != "truncated"
    assert palestra.measure(pitch).get("steps-to-score") == (len(pitch.steps) if scored else None)
