"""Reward models and values learnt from records: known weights come back, held-out pairs rank."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import EpisodeRecord, InvalidOption
from palestra.agents.models import Request
from palestra_rewards import shape
from palestra_rewards.episodes.intents import (
    TrajectoryScorer,
    Triplet,
    near_miss,
    trajectory,
    triplets,
    write_intents,
)
from palestra_rewards.episodes.valued import best_of
from palestra_rewards.judges import Judge
from palestra_rewards.judges.proposing import Proposer, audit, evaluate
from palestra_rewards.reading import turn_rewards
from palestra_rewards.tabular import (
    Mdp,
    alike,
    counts_of,
    ground,
    grounding_accuracy,
    value_system,
)


def said(request: Request) -> str:
    return request.messages[-1].content


# ARMAP


def walked_to(record: EpisodeRecord) -> str:
    """A template over the last state, as nobody's label."""
    spots = re.findall(r"row (\d+), column (\d+)|\((\d+), (\d+)\)", trajectory(record))
    return f"End at {spots[-1] if spots else 'the start'}."


def explored(count: int, seed: int) -> list[EpisodeRecord]:
    return palestra.play(
        "games/FrozenLake-v0", agents=["random"], episodes=count, seed=seed, max_episode_steps=12
    )


@pytest.fixture(scope="module")
def fitted() -> TrajectoryScorer:
    return TrajectoryScorer().fit(triplets(explored(100, 0), walked_to, seed=1))


def test_a_near_miss_keeps_the_beginning_and_is_played_in_the_game() -> None:
    records = palestra.play(
        "grid/Foraging-v0", agents=["random"] * 3, num_players=3, episodes=4, max_episode_steps=10
    )
    for seed, record in enumerate(records):
        other = near_miss(record, seat=seed % 3, seed=seed)
        assert other is not None
        palestra.replay(other)  # it is what the game does
        cut = other.branched_at
        before = [[t.text for t in step.turns] for step in record.steps[:cut]]
        assert [[t.text for t in step.turns] for step in other.steps[:cut]] == before
        one, two = record.steps[cut].turns, other.steps[cut].turns
        assert [t.seat for t, u in zip(one, two, strict=True) if t.text != u.text] == [seed % 3]
        again = near_miss(record, seat=seed % 3, seed=seed)
        assert again is not None
        assert again.returns == other.returns
        assert [t.text for t in again.turns] == [t.text for t in other.turns]


def test_a_scorer_of_trajectories_learns_from_exploring_alone(fitted: TrajectoryScorer) -> None:
    """Pair accuracy on other starts and ends than it was fitted to; a coin has 1/2."""
    held_out = triplets(explored(40, 900), walked_to, seed=2)
    assert fitted.accuracy(held_out) > 0.75
    assert TrajectoryScorer().accuracy(held_out) == 0.5
    shuffled = [Triplet(e.intent, e.bad, e.good) for e in held_out]
    assert fitted.accuracy(shuffled) == pytest.approx(1 - fitted.accuracy(held_out))
    again = TrajectoryScorer()
    again.load(fitted.state())
    assert again.accuracy(held_out) == fitted.accuracy(held_out)


def test_the_scorer_picks_the_best_of_n_for_a_task(fitted: TrajectoryScorer) -> None:
    hits = 0
    for seed in range(12):
        records = palestra.rollouts(
            "games/FrozenLake-v0", agents=["random"], seed=seed, n=4, max_episode_steps=12
        )
        wanted = seed % 4
        task = walked_to(records[wanted])
        scores = [shape("armap", r, scores=fitted, intent=task)[-1] for r in records]
        chosen = best_of(records, lambda r, t=task: shape("armap", r, scores=fitted, intent=t))
        assert chosen == int(np.argmax(scores))
        hits += walked_to(records[chosen]) == task
    assert hits >= 8  # a draw finds one in four, or little more


def test_a_model_writes_the_task_of_what_was_done() -> None:
    asked: list[str] = []

    def writer(request: Request) -> str:
        asked.append(said(request))
        return "Reach\n the goal."

    records = explored(3, 4)
    assert write_intents(Judge(writer), records) == ["Reach the goal."] * 3
    assert all(trajectory(r) in text for r, text in zip(records, asked, strict=True))
    with pytest.raises(InvalidOption, match="one triplet or more"):
        TrajectoryScorer().fit([])


# Value systems


@settings(max_examples=10)
@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_weights_of_a_known_agent_come_back(values: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mdp = Mdp(rng.dirichlet(np.ones(6), size=(6, 3)), np.full(6, 1 / 6), gamma=0.9)
    groundings = rng.uniform(size=(6, 3, values))
    true = rng.dirichlet(np.ones(values))
    policy, _ = mdp.soft(groundings @ true, 0.1)
    found = value_system(mdp, groundings, mdp.visits(policy), temperature=0.1)
    assert found == pytest.approx(true, abs=5e-3)
    assert found.sum() == pytest.approx(1.0)


@settings(max_examples=10)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_meaning_of_a_value_comes_back_from_comparisons(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    features, true = rng.normal(size=(40, size)), rng.normal(size=size)
    pairs = rng.integers(0, 40, (400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    gap = (features @ true)[pairs]
    chances = 1 / (1 + np.exp(gap[:, 1] - gap[:, 0]))  # Bradley-Terry itself
    found = ground(features, pairs, chances=chances, ridge=1e-9)
    assert found == pytest.approx(true, abs=1e-3)
    better = np.where((gap[:, 0] > gap[:, 1])[:, None], pairs, pairs[:, ::-1])
    assert grounding_accuracy(features, ground(features, better), better) > 0.98


def test_value_systems_of_players_are_told_apart_from_what_they_did() -> None:
    """Two values of a real grid, two players who care for one each, nothing but records."""

    def towards(goal: int) -> Any:
        def act(turn: Any) -> int:
            legal = [int(a) for a in turn.legal_actions]
            return goal if goal in legal and turn.rng(0, 1).word() % 10 < 7 else legal[0]

        return palestra.FunctionAgent(act, f"likes {goal}")

    play = {"episodes": 30, "max_episode_steps": 12}
    runs = [palestra.play("games/FrozenLake-v0", agents=[towards(g)], **play) for g in (1, 2)]
    random = palestra.play("games/FrozenLake-v0", agents=["random"], seed=50, **play)
    mdp = Mdp.seen([*runs[0], *runs[1], *random], gamma=0.9)
    counts = counts_of(mdp, random)
    shares = [np.array([sum(t.action == goal for t in r.turns) for r in random]) for goal in (1, 2)]
    pairs = [
        np.array([(a, b) for a in range(30) for b in range(30) if share[a] > share[b]])
        for share in shares
    ]
    groundings = np.stack([ground(counts, one).reshape(mdp.open.shape) for one in pairs], axis=-1)
    groundings /= np.abs(groundings).max(axis=(0, 1))
    for value, one in enumerate(pairs):
        flat = groundings[..., value].ravel()
        assert grounding_accuracy(counts, flat, one) > 0.9
    systems = [
        value_system(mdp, groundings, counts_of(mdp, run).mean(axis=0).reshape(mdp.open.shape))
        for run in runs
    ]
    assert systems[0][0] > 0.6
    assert systems[1][1] > 0.6
    assert alike([*systems, systems[0]]) == [[0, 2], [1]]
    with pytest.raises(InvalidOption, match="tables do not hold"):
        counts_of(mdp, palestra.play("games/TicTacToe-v0", agents=["random"] * 2))


# PAE and self-questioning


def test_tasks_are_proposed_once_and_easy_ones_known() -> None:
    asked: list[str] = []

    def proposer(request: Request) -> str:
        asked.append(said(request))
        return "Here:\n- Win in the middle column.\n2) Lose quickly.\n- win in the middle column\n"

    found = Proposer(Judge(proposer))
    records = palestra.play("games/ConnectFour-v0", agents=["random"] * 2, max_episode_steps=4)
    assert [t.text for t in found.propose("Connect Four.", shown=records)] == [
        "Win in the middle column.",
        "Lose quickly.",
    ]
    assert trajectory(records[0]) in asked[0]
    assert found.propose("Connect Four.") == []
    assert "Tasks there are already:\n- Win in the middle column." in asked[1]
    with pytest.raises(InvalidOption, match="no line with a task"):
        Proposer(Judge(lambda _: "I cannot.")).propose("x")


def middle(request: Request) -> str:
    """Whether the last move that is shown went into the middle."""
    moves = re.findall(r"^> (\d)$", said(request), re.MULTILINE)
    return "yes" if moves and moves[-1] == "4" else "no"


def test_an_evaluator_pays_for_proposed_tasks_and_is_audited(tmp_path: Path) -> None:
    records = palestra.play("games/ConnectFour-v0", agents=["random"] * 2, episodes=12)
    truth = []
    for record in records:
        paid = shape("pae", record, judge=Judge(middle), task="End in the middle.")
        last = {turn.seat: place for place, turn in enumerate(record.turns)}
        expected = {p: float(record.turns[p].text == "4") for p in last.values()}
        assert {p: paid[p] for p in last.values()} == expected
        assert paid.sum() == sum(expected.values())
        truth.append(expected[last[0]])
    told = evaluate(Judge(middle), ["x"] * 12, records)
    assert audit(told, truth) == {"precision": 1.0, "recall": 1.0} or not any(truth)
    assert audit([1, 1, 0, 0, 1], [1, 0, 1, 0, 1]) == pytest.approx(
        {"precision": 2 / 3, "recall": 2 / 3}
    )
    with pytest.raises(InvalidOption, match="pae needs a task"):
        shape("pae", records[0], judge=Judge(middle))
    assert turn_rewards(records[0]).any()


def test_questions_after_exploring_keep_the_moves_that_answer_them() -> None:
    def curious(request: Request) -> str:
        text = said(request)
        if "explored an environment" in text:
            return "none" if text.count("\n> ") % 2 else f"- Fill {text.count(chr(10) + '> ')}."
        return "no" if "Task: Fill 6." in text else "yes"

    records = palestra.play("games/Hangman-v0", agents=["random"], episodes=14, max_episode_steps=9)
    found = Proposer(Judge(curious))
    tasks = found.question(records)
    lengths = {len(record.turns) for record in records}
    assert {len(task.moves) for task in tasks} == {n for n in lengths if n % 2 == 0 and n != 6}
    assert all(task.text == f"Fill {len(task.moves)}." for task in tasks)
    assert all(np.isnan(task.ease) for task in tasks)
    assert tasks
