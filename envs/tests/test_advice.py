"""Advice: beliefs by enumeration, what is paid, and an adviser that asks until it is sure."""

from __future__ import annotations

from math import prod

import numpy as np
import palestra
import pytest
from palestra import Rng
from palestra_envs.text.advice import TYPES, Advice, Ask, Conversation, Recommend

ID = "text/Advice-v0"


@pytest.mark.parametrize("candour", [0.5, 0.7, 1.0])
def test_the_belief_is_bayes_rule_over_all_types(candour: float) -> None:
    game, rng = Advice(candour=candour), np.random.default_rng(2)
    asked = tuple((int(rng.integers(3)), 1) for _ in range(4))
    likely = [
        prod(candour if kind[n] == said else 1 - candour for n, said in asked) for kind in TYPES
    ]
    found = game.belief(Conversation(Rng(0), TYPES[7], asked))
    assert found == pytest.approx(np.array(likely) / sum(likely))


def test_people_answer_truthfully_as_often_as_they_should() -> None:
    game, true = Advice(candour=0.8, questions=100), 0
    for seed in range(12):
        state = game.initial_state(seed)
        for n in range(100):
            game.step(state, {0: Ask(game.names[n % 3])})
        true += sum(state.kind[n] == said for n, said in state.asked)
    assert true / 1200 == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 1200))


def test_a_fitting_plan_pays_one_less_the_questions() -> None:
    game = Advice(price=0.1)
    state = Conversation(Rng(0), (1, 0, 1))
    assert game.step(state, {0: Ask("time")}).rewards == {0: {"questions": -0.1}}
    wrong = game.clone(state)
    plan = Recommend("sore joints", "alone", "in the evening")
    assert game.step(state, {0: plan}).rewards == {0: {"fit": 1.0}}
    assert game.outcome(state).scores == pytest.approx((0.9,))  # type: ignore[union-attr]
    game.step(wrong, {0: Recommend("sore joints", "with others", "in the evening")})
    assert game.outcome(wrong).results == ("loss",)  # type: ignore[union-attr]


@pytest.mark.parametrize("scenario", ["exercise", "education"])
def test_an_adviser_is_right_as_often_as_it_is_sure(scenario: str) -> None:
    """Stopping at a lead of two, each attribute is right with chance 0.85² / (0.85² + 0.15²)."""
    records = palestra.play(
        ID, agents="advice-seeker", episodes=150, scenario=scenario, questions=60
    )
    right = np.mean([record.outcome.results[0] == "win" for record in records if record.outcome])
    each = 0.85**2 / (0.85**2 + 0.15**2)
    assert right == pytest.approx(each**3, abs=4 * np.sqrt(each**3 * (1 - each**3) / 150))
