"""PlanGEN: the choice of an algorithm, the allotment of REBASE, and verified plans."""

from __future__ import annotations

import math

import palestra
import pytest
from adapter_worlds import Free, last
from optimiser_worlds import doors
from palestra.agents.models import Request
from palestra_adapters.teams.plangen import (
    Choice,
    PlanGen,
    Record,
    allocation,
    bounds,
    read_hints,
    read_score,
)


def test_the_bound_by_hand() -> None:
    records = {"a": Record(4, 3.0), "b": Record(1, 0.5), "c": Record()}
    found = bounds(records, {"a": 0.2}, c=2.0, hint=0.5)
    assert found["a"] == pytest.approx(0.75 + 2 * math.sqrt(math.log(5) / 4) + 0.1)
    assert found["b"] == pytest.approx(0.5 + 2 * math.sqrt(math.log(5)) + 0.25)
    assert found["c"] == math.inf


def test_rebase_allots_by_softmax_and_spends_the_whole_budget() -> None:
    # weights 1 and 1/3 at heat 1 / log 3 for scores 1 and 0: shares 3 and 1 of 4
    assert allocation([1.0, 0.0], 4, 1 / math.log(3)) == [3, 1]
    assert allocation([0.5, 0.5, 0.5], 4, 0.1) == [2, 1, 1]
    assert allocation([0.0, 1.0], 5, 0.01) == [0, 5]


def test_grades_and_hints_are_read() -> None:
    assert read_score("Score: 10\nbut then\nScore: 85") == 0.85
    assert read_score("well done") == 0.0
    assert read_hints("Best-of-N: 0.9\nrebase: 1") == {"best-of-n": 0.9, "rebase": 1.0}


SCORES = {"left": 0, "middle": 50, "right": 100}


def team(request: Request) -> str:
    """A planner who guesses by its seed, or follows reasoning and feedback; an exact verifier."""
    text = last(request)
    if "List the constraints" in text:
        return "It must pay."
    if "How suitable" in text:
        return "best-of-n: 0.1\ntree-of-thought: 0.9\nrebase: 0.5"
    guess = list(SCORES)[(request.seed or 0) % 3]
    if "Verify the plan" in text:
        assert 'Constraints:\n"It must pay."' in text
        plan = text.partition("A plan:")[2].partition("Verify")[0]
        named = [side for side in SCORES if side in plan]
        score = SCORES[named[-1]] if named else 0
        return f"{'It pays.' if score == 100 else 'The right door pays most.'}\nScore: {score}"
    if "next step of reasoning" in text:
        return f"I think of {guess}."
    reasoning = text.partition("Reasoning so far:")[2]
    held = [side for side in ("right", "middle", "left") if side in reasoning]
    if "Feedback on your last plan" in text:
        held = ["right"] if "right door pays" in text else ["left"]
    return f"Thought: so\nAction: Go(to='{held[0] if held else guess}')"


@pytest.mark.parametrize("algorithm", ["best-of-n", "tree-of-thought", "rebase"])
def test_every_algorithm_plays_the_verified_best_and_one_answer_does_not(algorithm: Choice) -> None:
    """The paper's ordering: each with the verifier beats a single unverified answer."""
    agent = PlanGen(model=Free(team), algorithm=algorithm, rounds=0, width=4)
    paid = [r.returns[0] for r in palestra.play(doors(), agents=[agent], episodes=20)]
    alone = PlanGen(model=Free(team), algorithm="best-of-n", rounds=0, width=1)
    single = [r.returns[0] for r in palestra.play(doors(), agents=[alone], episodes=20)]
    assert sum(paid) > sum(single) + 4


def test_feedback_improves_a_plan_that_is_not_good_enough() -> None:
    model = Free(team)
    agent = PlanGen(model=model, algorithm="best-of-n", width=1, rounds=2)
    record = palestra.play(doors(), agents=[agent])[0]
    assert record.returns == (1.0,)
    assert record.turns[0].facts["process"] == 1.0
    asked = [last(request) for request in model.requests]
    assert sum('Feedback on your last plan:\n"The right door pays most.' in t for t in asked) == 1


def test_the_selector_uses_hints_first_and_history_after() -> None:
    agent = PlanGen(model=Free(team), c=0.1)
    records = palestra.play(doors(), agents=[agent], episodes=12, live=1)
    modes = [record.turns[0].facts["mode"] for record in records]
    assert modes[:3] == ["tree-of-thought", "rebase", "best-of-n"]  # each once, by the hints
    assert modes.count("tree-of-thought") > 6
    (own,) = agent.records.values()
    assert sum(record.used for record in own.values()) == 12
