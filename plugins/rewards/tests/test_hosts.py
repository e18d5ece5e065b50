"""Mechanisms in the environments that were made to host them."""

from __future__ import annotations

import numpy as np
import palestra
import pytest
from palestra_rewards import Group, estimate, shape
from palestra_rewards.facts import last_said
from scipy.stats import spearmanr


def test_curiosity_pays_what_was_learnt_and_not_for_talking_long() -> None:
    records = palestra.play("text/Advice-v0", agents="advice-seeker", episodes=6, seed=3)
    for record in records:
        first, last = record.facts["belief"], record.facts["belief"]
        for step in record.steps:
            last = step.facts.get("belief", last)
        true = record.facts["type"]
        assert shape("curiosity", record).sum() == pytest.approx(last[true] - first[true])
        assert first[true] == pytest.approx(1 / 8)
    talker = palestra.play(
        "text/Advice-v0", agents="advice-seeker:sure=1.0", episodes=6, seed=3, candour=0.5
    )
    assert shape("curiosity", talker) == pytest.approx(0.0)  # nine questions that teach nothing
    assert all(len(record.steps) == 10 for record in talker)


def test_comam_weighs_builder_and_retriever_of_real_play() -> None:
    records = [
        *palestra.rollouts("text/SharedMemory-v0", agents="memory-keeper", n=2, seed=3),
        *palestra.rollouts("text/SharedMemory-v0", agents="random", n=6, seed=3),
        *palestra.rollouts("text/SharedMemory-v0", agents=["memory-keeper", "random"], n=4, seed=3),
    ]
    local = np.array([last_said(record, "local") for record in records])
    team = np.array([record.returns[0] for record in records])
    weights = np.array([(1 + spearmanr(own, team).statistic) / 2 for own in local.T])
    value = local + team[:, None] * weights / weights.sum()
    value -= value.mean(axis=0)
    found = estimate("comam", Group.of(records, compare_by=("seat",))).values
    turns = [(n, turn.seat) for n, record in enumerate(records) for turn in record.turns]
    assert found == pytest.approx([value[n, seat] for n, seat in turns])


def test_krc_pays_on_the_pitch_where_both_terms_do() -> None:
    records = palestra.play(
        "grid/CarBall-v0",
        agents=["scripted", "random"],
        episodes=4,
        num_players=2,
        chase_reward=0.5,
        advance_reward=0.25,
        rewards=["env", "krc-step:parts=chase+advance"],
    )
    paid = []
    for record in records:
        for step in record.steps:
            for terms in step.rewards.values():
                chase, advance = terms.get("chase", 0.0), terms.get("advance", 0.0)
                size = np.sqrt(abs(chase * advance))
                both = chase > 0 and advance > 0
                assert terms["krc"] == pytest.approx(size if both else -size)
                paid.append(both)
    assert True in paid
    assert False in paid
