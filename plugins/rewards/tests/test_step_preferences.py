"""StepAgent's implicit reward, MiCRo's router, rows of labels and of needs, a rule for steps."""

from __future__ import annotations

from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord, InvalidOption
from palestra_rewards import shape
from palestra_rewards.episodes.expert import AskedExpert
from palestra_rewards.facts import fact
from palestra_rewards.learnt.steps import StepPreference
from palestra_rewards.learnt.tastes import RoutedMixture
from palestra_rewards.training_rows import label_rows, need_rows


def corner(game: Any, state: Any, seat: int) -> list[float]:
    return [1.0]


def rollouts(n: int) -> list[EpisodeRecord]:
    return palestra.rollouts(
        "games/MatrixGame-v0", agents="random", n=n, seed=1, max_episode_steps=4
    )


def test_the_implicit_reward_is_the_log_odds_of_being_preferred() -> None:
    """One state, two moves: the gap of rewards is log(times preferred / times not), Bradley-Terry.

    The expert plays the other move in 3 of 4 turns where the agent plays "a", and in 1 of 4 where
    the agent plays "b".
    """
    records = rollouts(12)
    moves = sorted({turn.text for record in records for turn in record.turns})
    seen = dict.fromkeys(moves, 0)
    preferred = {(moves[0], moves[1]): 0, (moves[1], moves[0]): 0}

    def expert(record: EpisodeRecord) -> list[str]:
        found = []
        for turn in record.turns:
            other = moves[1 - moves.index(turn.text)]
            swaps = seen[turn.text] % 4 < (3 if turn.text == moves[0] else 1)
            seen[turn.text] += 1
            preferred[other, turn.text] += swaps
            found.append(other if swaps else turn.text)
        return found

    model = StepPreference(features=corner, beta=0.5, steps=200, rate=0.1).fit(records, expert)
    paid = {
        turn.text: value
        for record in records
        for turn, value in zip(
            record.turns, shape("stepagent-implicit", record, scores=model), strict=True
        )
    }
    one, other = preferred[moves[1], moves[0]], preferred[moves[0], moves[1]]
    assert min(one, other) >= 3
    assert paid[moves[1]] - paid[moves[0]] == pytest.approx(log(one / other), abs=0.02)


def test_an_expert_who_agrees_pays_nothing_and_one_who_moves_on_is_preferred() -> None:
    records = palestra.play("games/Quest-v0", agents="random", episodes=4, max_episode_steps=12)
    same = StepPreference(steps=20).fit(records, lambda r: [turn.text for turn in r.turns])
    assert not shape("stepagent-implicit", records, scores=same).any()
    expert = AskedExpert("quest-explorer")
    model = StepPreference(steps=100).fit(records, expert)
    like = shape("stepagent", records, expert=expert)
    paid = shape("stepagent-implicit", records, scores=model)
    assert paid[like == 1].mean() > paid[like < 1].mean()
    with pytest.raises(InvalidOption, match="not fitted yet"):
        StepPreference()(records[0])


def test_the_router_learns_which_taste_holds_where() -> None:
    """By day speed counts, at night quiet; tastes conflict, so one taste for all is near chance."""
    rng = np.random.default_rng(2)
    one, two = rng.normal(size=(2, 600, 2))
    day = rng.uniform(size=600) < 0.5
    tastes = np.where(day[:, None], [4.0, -4.0], [-4.0, 4.0])
    first = rng.uniform(size=600) < 1 / (1 + np.exp(-((one - two) * tastes).sum(axis=1)))
    better, worse = np.where(first[:, None], one, two), np.where(first[:, None], two, one)
    contexts = ["a delivery by day" if d else "a delivery at night" for d in day]
    train, rest = slice(0, 400), slice(400, 600)
    model = RoutedMixture(["speed", "quiet"], steps=300).fit(
        better[train], worse[train], contexts[train]
    )
    right = model.chance(better[rest], worse[rest], contexts[rest]) > 0.5
    truth = ((better - worse) * tastes)[rest].sum(axis=1) > 0
    assert right.mean() >= truth.mean() - 0.03  # as good as the tastes that made the choices
    alone = RoutedMixture(["speed", "quiet"], heads=1, steps=100).fit(
        better[train], worse[train], contexts[train]
    )
    assert (alone.chance(better[rest], worse[rest], contexts[rest]) > 0.5).mean() < 0.65
    by_day, by_night = model.weights(["a delivery by day", "a delivery at night"])
    assert by_day.argmax() != by_night.argmax()
    assert min(by_day.max(), by_night.max()) > 0.9


def test_a_person_tips_the_weights_by_bayes_and_pays_by_them() -> None:
    rng = np.random.default_rng(4)
    model = RoutedMixture(["payoff", "other"], context=lambda record, seat: "x", steps=5)
    better, worse = rng.normal(size=(2, 7, 2))
    prior = model.weights(["x"])[0]
    with pytest.raises(InvalidOption, match="one row per context"):
        model.route(better, worse, ["x"])
    model.route(better, worse, ["x"] * 7)
    weight, bias = (np.array(part) for part in model.state()["scores"])
    chances = 1 / (1 + np.exp(-(better - worse) @ weight.T))
    bayes = prior * chances.prod(axis=0)
    assert model.weights(["x"])[0] == pytest.approx(bayes / bayes.sum())
    (record,) = rollouts(1)
    paid = shape("micro", record, scores=model)
    slope = model.weights(["x"])[0] @ weight[:, 0]
    terms = [step.rewards.get(turn.seat, {}) for step in record.steps for turn in step.turns]
    assert paid == pytest.approx([slope * sum(term.values()) for term in terms])
    assert bias.shape == (2,)


def test_verdicts_become_rows_of_labels() -> None:
    records = palestra.play("games/TicTacToe-v0", agents="probe:random,by=minimax", seed=1)
    worth = shape("steve", records)
    rows = label_rows(records, worth)
    assert [row["label"] for row in rows] == [
        bool(turn.facts["verdicts"]) for turn in records[0].turns
    ]
    assert {row["label"] for row in rows} == {True, False}
    assert rows[0]["completion"] == [{"role": "assistant", "content": records[0].turns[0].text}]
    assert rows[0]["prompt"][0]["role"] == "system"


def test_rows_of_needs_tag_steps_and_leave_needless_calls_out() -> None:
    records = palestra.play("web/ToolWorld-v0", agents="tool-solver", episodes=2)
    records += palestra.play("web/ToolWorld-v0", agents="random", episodes=4)
    rows = need_rows(records)
    calls = [c for record in records for c in fact(record, "calls")]
    wasted = [n for record in records for n in fact(record, "needless")]
    assert any(wasted)
    kept = [made for made, waste in zip(calls, wasted, strict=True) if not waste]
    assert [row["step"] for row in rows] == ["tool" if made else "parametric" for made in kept]
    assert {"tool", "parametric"} == {row["step"] for row in rows}
    with pytest.raises(InvalidOption, match="reads the fact 'calls'"):
        need_rows(rollouts(1))


def test_a_rule_verifies_steps_by_what_they_changed() -> None:
    """On a hall without walls: good is what comes nearer than before and than the start was."""
    hall = {"rows": 2, "columns": 5, "wall_density": 0.0}
    records = palestra.play("games/PlanPath-v0", agents="random", episodes=3, seed=11, **hall)
    found, expected = [], []
    for record in records:
        found += (shape("steve", record, by="progress") > 0).tolist()
        states = [episode.game.clone(episode.state) for episode in palestra.retrace(record)]
        ways = [abs(s.walker[0] - s.goal[0]) + abs(s.walker[1] - s.goal[1]) for s in states]
        left = [min(way, ways[0]) for way in ways]
        expected += [after < before for before, after in pairwise(left)]
    assert found == expected
    assert {True, False} == set(found)
    with pytest.raises(InvalidOption, match="needs progress"):
        shape("steve", rollouts(1), by="progress")
