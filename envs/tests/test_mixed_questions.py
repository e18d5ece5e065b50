"""MixedQuestions: what needs a tool, what is paid, and how overuse is counted."""

from __future__ import annotations

import re

import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord
from palestra_envs.text.mixed_questions import CHOICES, INTENT, MixedQuestions, known_choice

ID = "text/MixedQuestions-v0"


def played(calls: str, episodes: int = 40, **options: object) -> list[EpisodeRecord]:
    agent = f"question-solver:calls={calls}"
    return palestra.play(ID, agents=agent, episodes=episodes, **options)


def test_half_of_the_questions_of_every_kind_need_their_tool() -> None:
    game = MixedQuestions(questions=24)
    for seed in range(8):
        asked = game.initial_state(seed).questions
        for kind in range(3):
            needs = [question.needed for question in asked if question.kind == kind]
            assert (len(needs), sum(needs)) == (8, 4)
        assert len({question.right for question in asked}) > 1


def test_right_answers_are_right_and_choices_differ() -> None:
    game = MixedQuestions(questions=30)
    for seed in range(10):
        for question in game.initial_state(seed).questions:
            assert len(set(question.choices)) == CHOICES
            right = question.choices[question.right]
            found = re.search(r"How much is (\d+) ([+*]) (\d+)", question.text)
            if found:
                one, sign, other = int(found[1]), found[2], int(found[3])
                assert int(right) == (one + other if sign == "+" else one * other)
            if question.kind == INTENT:
                assert (right in question.text) is not question.needed


def test_who_calls_where_there_is_need_is_always_right() -> None:
    for record in played("needed"):
        assert record.outcome is not None
        assert record.outcome.results == ("win",)
        assert record.returns[0] == pytest.approx(1 - 0.05 * 3)
        assert record.steps[-1].facts.get("needless", record.facts["needless"]) == 0


def test_who_never_calls_guesses_a_fifth_of_what_needs_a_tool() -> None:
    records = played("never", 300)
    assert all(len(record.steps) == 6 for record in records)
    right = np.array([record.returns[0] * 6 for record in records])
    guesses = 300 * 3
    assert (right - 3).sum() / guesses == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / guesses))


@pytest.mark.parametrize(
    ("calls", "overuse", "underuse", "per_call"),
    [("needed", 0, 0, 2.0), ("always", 1, 0, 1.0), ("never", 0, 1, None)],
)
def test_overuse_and_underuse_of_three_ways_to_play(
    calls: str, overuse: float, underuse: float, per_call: float | None
) -> None:
    (record,) = played(calls, 1)
    found = palestra.measure(record)
    assert (found["overuse"], found["underuse"]) == (overuse, underuse)
    assert found.get("accuracy-per-call") == per_call


def test_further_calls_on_one_question_are_needless() -> None:
    game = palestra.make(ID, view="episode", seed=1)
    needed = game.state.questions[0].needed
    for _ in range(3):
        game.act({0: game.parse(0, _call(game.state.questions[0].kind))})
    assert game.game.record_facts(game.state)["needless"] == 3 - needed
    assert "Call" not in str(game.game.legal(game.state, 0))


def test_a_picture_marks_the_calls_beyond_those_needed() -> None:
    game = palestra.make(ID, view="episode", seed=1)
    asked = game.state.questions[0]
    colours = {}
    for calls in range(1, 4):
        game.act({0: game.parse(0, _call(asked.kind))})
        (grid,) = [part for part in game.scene().all_parts() if isinstance(part, palestra.Grid)]
        piece = next(p for row in grid.cells for p in row if p and p.label == "calls")
        assert piece.glyph == str(calls)
        colours[calls] = piece.colour
    assert colours == {n: "red" if n > asked.needed else "blue" for n in range(1, 4)}


def _call(kind: int) -> str:
    return f"Call(tool='{('calculator', 'search', 'user')[kind]}')"


def test_notes_and_questions_give_away_exactly_what_needs_no_tool() -> None:
    game = MixedQuestions(questions=30)
    for seed in range(10):
        state = game.initial_state(seed)
        for number, question in enumerate(state.questions):
            state.at = number
            found = known_choice(game.describe(state, 0))
            assert found == (0 if question.needed else question.right + 1)
