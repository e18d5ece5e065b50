"""MDAgents: how hard a decision is says who thinks about it, and who reads what."""

from __future__ import annotations

from collections.abc import Callable

import palestra
import pytest
from adapter_worlds import Free, last, trail
from palestra.agents.models import Request
from palestra_adapters.teams.mdagents import CHECK, DECIDE, REPORT, REVIEW, MDAgents

DOORS = {"start": {"left": 0.0, "right": 1.0}}


def kind_of(request: Request) -> str:
    text = last(request)
    for kind, words in {
        "check": CHECK,
        "review": REVIEW,
        "report": REPORT,
        "decide": DECIDE,
    }.items():
        if words in text:
            return kind
    return "name" if "Answer with one line for each" in text else "answer"


def played(
    level: str, member: Callable[[Request], str], **settings: int
) -> tuple[palestra.EpisodeRecord, list[Request]]:
    """One decision, and what was asked for it."""

    def answer(request: Request) -> str:
        kind = kind_of(request)
        if kind == "answer":
            return member(request)
        said = {
            "check": level,
            "name": "Porter: knows doors\nScout: knows the way",
            "review": "Nobody looked at the sign.",
            "report": 'The sign says "right".',
            "decide": "Go(to='right')",
        }
        return said[kind]

    model = Free(answer)
    agent = MDAgents(model=model, **settings)
    return palestra.play(trail(DOORS, top=1.0), agents=[agent])[0], model.requests


def go(side: str) -> str:
    return f"Thought: the {side} one.\nAction: Go(to='{side}')"


def right(_: Request) -> str:
    return go("right")


def by_role(request: Request) -> str:
    return go("right" if "Porter" in request.messages[0].content else "left")


@pytest.mark.parametrize("said", ["low", "Low.", "**low**", "It is low: one look settles it"])
def test_an_easy_decision_is_one_members(said: str) -> None:
    record, asked = played(said, right)
    assert [kind_of(request) for request in asked] == ["check", "answer"]
    assert record.turns[0].facts["complexity"] == "low"
    assert record.returns == (1.0,)


@pytest.mark.parametrize("said", ["moderate", "I cannot tell", ""])
def test_members_who_agree_need_no_review(said: str) -> None:
    record, asked = played(said, right, size=4)
    assert [kind_of(request) for request in asked] == ["check", "name", *["answer"] * 4]
    assert record.turns[0].facts["complexity"] == "moderate"
    assert record.turns[0].facts["confidence"] == 1.0


def test_members_who_differ_are_reviewed_round_after_round_and_one_decides() -> None:
    record, asked = played("moderate", by_role, size=2, rounds=3)
    a_round = ["answer", "answer", "review"]
    assert [kind_of(r) for r in asked] == ["check", "name", *a_round * 3, "decide"]
    answers = [request for request in asked if kind_of(request) == "answer"]
    porters = ["Porter" in request.messages[0].content for request in answers]
    assert porters == [True, False] * 3
    assert all("Scout" not in request.messages[0].content for request in answers[::2])
    for request in answers[:2]:  # of the first round, before anybody said anything
        assert "Member" not in last(request)
    for request in answers[2:]:
        assert last(request).count("Action:") >= 2
        assert 'The moderator says: "Nobody looked at the sign."' in last(request)
    assert record.returns == (1.0,)
    assert record.turns[0].facts["candidates"] == {"Go(to='right')": 0.5, "Go(to='left')": 0.5}


def test_teams_read_the_reports_of_those_before_them_and_no_answers() -> None:
    record, asked = played("high", right, size=2, teams=2)
    a_team = ["answer", "answer", "report"]
    assert [kind_of(r) for r in asked] == ["check", "name", *a_team * 2, "decide"]
    first, second = asked[2:4], asked[5:7]
    assert all("reports" not in last(request) for request in first)
    for request in second:
        assert r'"Porter: knows doors" reports: "The sign says \"right\"."' in last(request)
        assert "Member" not in last(request)
        assert "Scout" in request.messages[0].content
    assert last(asked[-1]).count(" reports: ") == 2
    assert record.turns[0].facts["complexity"] == "high"


def test_a_given_complexity_is_not_asked_for() -> None:
    asked: list[str] = []

    def answer(request: Request) -> str:
        asked.append(kind_of(request))
        return go("right")

    agent = MDAgents(model=Free(answer), complexity="low")
    palestra.play(trail(DOORS, top=1.0), agents=[agent])
    assert asked == ["answer"]


def test_what_is_missing_of_a_list_is_filled() -> None:
    _, asked = played("moderate", by_role, size=4, rounds=1)
    rules = [r.messages[0].content for r in asked if kind_of(r) == "answer"]
    assert ["Porter" in rules[0], "Scout" in rules[1]] == [True, True]
    assert ["Expert 3" in rules[2], "Expert 4" in rules[3]] == [True, True]
