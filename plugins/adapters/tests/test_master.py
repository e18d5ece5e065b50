"""MASTER: grades pooled with evaluations, and how many agents a position recruits, by hand."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import palestra
import pytest
from adapter_worlds import Free, last, trail
from palestra import EpisodeRecord
from palestra.agents.models import Request
from palestra_adapters.search.master import (
    Master,
    Recruit,
    back_up,
    bound,
    pooled_value,
    read_assessment,
)

BAIT = {"start": {"bait": 0.0, "path": 0.0}, "bait": {"b2": 0.0}, "b2": {"b3": 0.0}}
BAIT |= {"path": {"p2": 0.0}, "p2": {"end": 1.0}}
GRADES = {"bait": (9, 2), "b2": (9, 2), "path": (4, 8), "p2": (5, 8)}  # value, confidence


def grading(grades: dict[str, tuple[int, int]]) -> Free:
    """An agent that grades places as listed."""

    def answer(request: Request) -> str:
        place = last(request).partition("You are at ")[2].split(",")[0]
        value, sure = grades[place]
        return f"Confidence: {sure}\nValue: {value}"

    return Free(answer)


def walk(grades: dict[str, tuple[int, int]], **options: Any) -> tuple[EpisodeRecord, Free]:
    model = grading(grades)
    (record,) = palestra.play(trail(BAIT, top=1.0), agents=[Master(model=model, **options)])
    return record, model


def test_a_grade_counts_as_many_evaluations_as_it_has_confidence() -> None:
    assert pooled_value(0.9, 0.2, 0.0, 0) == pytest.approx(0.9)
    assert pooled_value(0.9, 0.2, 0.0, 1) == pytest.approx(0.18 / 1.2)
    assert pooled_value(0.9, 1.0, 0.0, 1) == pytest.approx(0.45)
    assert pooled_value(0.9, 0.0, 0.0, 0) == 0.5


def test_exploration_fades_with_confidence() -> None:
    spot: Any = None
    root = Recruit(spot)
    guess, sure = (Recruit(spot, root, 1, 0.5, confidence) for confidence in (0.0, 1.0))
    assert bound(guess, 1.0) == bound(sure, 1.0) == 0.5  # nothing is evaluated yet
    back_up(sure, 0.5)
    assert (root.evaluations, root.total, guess.evaluations) == (1, 0.5, 0)
    assert bound(guess, 2.0) == pytest.approx(0.5 + 2 * sqrt(log(2)))
    assert bound(sure, 2.0) == pytest.approx(0.5)


def test_a_failed_end_outweighs_grades_given_with_little_confidence() -> None:
    """Six agents and two ends by hand: over the bait to 0, then along the path to 1."""
    record, _ = walk(GRADES)
    first = record.turns[0]
    assert record.returns == (1.0,)
    assert first.text == "Go(to='path')"
    assert (first.facts["recruited"], first.facts["evaluated"]) == (6, 2)


def test_without_evaluations_it_takes_the_bait() -> None:
    record, _ = walk(GRADES, agents=2)
    assert record.returns == (0.0,)
    assert record.turns[0].facts["evaluated"] == 0


def test_an_easy_position_recruits_fewer_agents() -> None:
    easy, _ = walk(GRADES | {"path": (9, 9), "bait": (1, 9)})
    assert easy.returns == (1.0,)
    assert (easy.turns[0].facts["recruited"], easy.turns[0].facts["evaluated"]) == (4, 1)


def test_agents_read_the_steps_of_those_who_recruited_them_and_nothing_of_others() -> None:
    _, model = walk(GRADES)
    texts = [last(request) for request in model.requests if "Confidence" in last(request)]
    assert "yours last: \"Go(to='bait'); Go(to='b2')\"" in texts[2]
    own = next(text for text in texts if "You are at p2" in text)
    assert "bait" not in own
    assert all("player_0 stand" in text for text in texts)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Confidence: 7\nValue: 3", (0.3, 0.7)),
        ("Confidence: **10**\nit is bad. Value: 0", (0.0, 1.0)),
        ("Value: 8", (0.8, 0.0)),
        ("I cannot say 7", (0.5, 0.0)),
        ("Confidence: 99\nValue: 99", (1.0, 1.0)),
    ],
)
def test_assessments_are_read_or_count_as_nothing(text: str, found: tuple[float, float]) -> None:
    assert read_assessment(text) == found


def test_it_plays_tic_tac_toe_and_beats_chance() -> None:
    """A real search: ends are evaluated by playouts, and the model's grades say nothing."""
    agent = Master(model=Free("?"), scorer="playouts", width=9, depth=1, agents=9, enough=1.0)
    records = palestra.play("games/TicTacToe-v0", agents=[agent, "random"], episodes=12, seed=5)
    assert sum(record.returns[0] for record in records) >= 9
