"""MagicGUI-RMS's two tiers and Cooper's reward model, on real runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import palestra
import pytest
from palestra import Agent, Decision, EpisodeRecord, InvalidOption, Turn
from palestra.agents.models import Request
from palestra_rewards import shape
from palestra_rewards.episodes.cooper import Cooper
from palestra_rewards.episodes.intents import TrajectoryScorer, Triplet, trajectory
from palestra_rewards.judges import Judge
from palestra_rewards.judges.tiers import BACK, NOTHING, REFUSED, reflux, review, rule_reasons

LAKE: dict[str, Any] = {"layout": ("SFF", "FHF", "FFG"), "slippery": False}


class Walker(Agent):
    """Says these things, one a call, again and again."""

    name = "walker"

    def __init__(self, way: Sequence[str]) -> None:
        self.way, self.said = list(way), 0

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        self.said += len(turns)
        return [Decision(text=self.way[(self.said - 1) % len(self.way)]) for _ in turns]


def walk(*way: str, number: int = 1, seed: int = 0) -> list[EpisodeRecord]:
    return palestra.rollouts(
        "games/FrozenLake-v0", agents=Walker(way), n=number, seed=seed, invalid="retry:2", **LAKE
    )


# Two tiers


def test_rules_are_checked_first_and_the_model_has_the_last_word() -> None:
    """Into the wall, to the right, back, a word that is no move, then on to the goal."""
    (record,) = walk("left", "right", "left", "fly", "right", "right", "down", "down")
    assert [turn.text for turn in record.turns] == [
        "left",
        "right",
        "left",
        "right",
        "right",
        "down",
        "down",
    ]
    reasons = [NOTHING, "", BACK, REFUSED, "", "", ""]
    assert rule_reasons(record) == reasons
    asked: list[str] = []

    def arbiter(request: Request) -> str:
        text = request.messages[-1].content
        asked.append(text)
        return "no" if NOTHING in text or BACK in text else "yes"

    judge = Judge(arbiter)
    found = review(record, judge, expert=Walker(["right"]))
    assert [one.reason for one in found] == reasons
    assert [one.by_rules for one in found] == [not reason for reason in reasons]
    assert [one.right for one in found] == [False, True, False, True, True, True, True]
    assert [one.corrected for one in found] == ["right", "", "right", "", "", "", ""]
    assert "A correction could be: right" in asked[0]
    assert "A correction" not in asked[1]
    assert shape("two-tiers", record, judge=judge).tolist() == [0, 1, 0, 1, 1, 1, 1]
    rows = reflux(record, found)
    assert [row["chosen"][0]["content"] for row in rows["agent"]] == ["right", "right"]
    assert [row["rejected"][0]["content"] for row in rows["agent"]] == ["left", "left"]
    assert rows["agent"][0]["prompt"][1]["role"] == "user"
    (hard,) = rows["judge"]  # the refused answer: the rules blame it, and the model does not
    assert hard["label"] is True
    assert hard["completion"][0]["content"] == "right"


def test_moves_that_lead_nowhere_are_found_in_real_play() -> None:
    (record,) = palestra.rollouts(
        "games/Sokoban-v0", agents="random", n=1, seed=1, max_episode_steps=25
    )
    reasons = rule_reasons(record)
    keys = [turn.anchor or turn.state_key for turn in record.turns]
    for place in range(len(keys) - 1):
        if not record.turns[place].errors:
            same, before = keys[place + 1] == keys[place], keys[place + 1] in keys[:place]
            assert reasons[place] == (NOTHING if same else BACK if before else "")
    assert {NOTHING, BACK, ""} <= set(reasons)


# Cooper

SAFE = ("right", "right", "down", "down")
LOST = ("down", "right")


def test_a_step_of_the_reward_model_by_hand() -> None:
    """From no weights, one step moves the gap of a pair to rate / 2 times its squared length."""
    (right,) = walk(*SAFE)
    scorer = TrajectoryScorer()
    model = Cooper("walk around the hole", scorer=scorer, steps=1, rate=0.2)
    (pair,) = model.pairs([right])
    assert pair.good == trajectory(right)
    assert "> " in pair.bad
    apart = scorer.features(pair.intent, pair.good)
    for bucket, count in scorer.features(pair.intent, pair.bad).items():
        apart[bucket] = apart.get(bucket, 0) - count
    assert model.update([right]) == pytest.approx(0.6931471805599453)
    gap = scorer.score(pair.intent, pair.good) - scorer.score(pair.intent, pair.bad)
    assert gap == pytest.approx(0.2 / 2 * sum(count**2 for count in apart.values()))


def test_negatives_are_refused_by_the_rule_and_failures_teach_nothing() -> None:
    right, wrong = walk(*SAFE) + walk(*LOST)
    model = Cooper("walk around the hole", scorer=(scorer := TrajectoryScorer()))
    assert model.update([wrong]) == 0.0
    assert not scorer.weights.any()
    assert len(model.pairs([wrong, right, right])) == 1  # one a task


def test_a_reward_model_that_goes_on_learning_cannot_be_hacked_for_long() -> None:
    """A policy finds words that the model likes and that have nothing to do with being right.

    The reward model that is not updated goes on paying for them; in the other one, what makes an
    answer wrong comes to outweigh them, because spoilt answers keep the words.
    """
    rule = "42"
    task = "what is six times seven"

    def answered(text: str, number: int) -> EpisodeRecord:
        (record,) = walk(*SAFE)
        record.steps[-1].turns[0].text = text
        record.number = number
        record.tags = {"success": float(rule in text)}
        return record

    def spoil(request: Request) -> str:
        return (
            request.messages[-1].content.split("right:\n")[1].split("\n\n")[0].replace("42", "41")
        )

    def made() -> Cooper:
        return Cooper(task, spoil=Judge(spoil), wrong=lambda text: rule not in text, steps=20)

    model, static = made(), made()
    first = [answered("surely it is 42", 0)]
    hack, honest = answered("trust me trust me 41", 1), answered("plainly 42", 2)
    flaw = [Triplet(task, trajectory(hack), trajectory(honest))]
    for one in (model, static):
        one.update(first)
        one.scorer.learn(flaw, steps=20, rate=0.02)  # a flaw of the model, which a policy finds
    assert shape("cooper", hack, scores=static).sum() > shape("cooper", honest, scores=static).sum()
    for number in range(24):
        model.update([answered("trust me trust me 42", 10 + number), hack, honest])
    paid = {
        name: shape("cooper", r, scores=model).sum()
        for name, r in (("hack", hack), ("honest", honest))
    }
    assert paid["honest"] > paid["hack"]
    other = made()
    other.load(model.state())
    assert other.score(hack) == pytest.approx(model.score(hack))


def test_models_that_cannot_be_are_named() -> None:
    with pytest.raises(InvalidOption, match="confirms"):
        Cooper("x", spoil="echo:")
    with pytest.raises(InvalidOption, match="rate"):
        Cooper("x", rate=0.0)
