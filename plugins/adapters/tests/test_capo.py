"""CaPo: who speaks when, what each reads, and that talking is paid for in moves."""

from __future__ import annotations

import palestra
import pytest
from adapter_worlds import Free, last
from palestra import EpisodeRecord, InvalidOption
from palestra.agents.models import Request
from palestra_adapters.teams.capo import CaPo

ID = "text/Transport-v0"


def kind_of(request: Request) -> str:
    text = last(request)
    if "You design the team's plan" in text:
        return "plan"
    return "judge" if "If this fits what you know" in text else "act"


def seat_of(request: Request) -> int:
    """Whose prompt it is, by the line about where it stands."""
    text = last(request)
    return next(n for n in range(6) if f"You are player_{n}, in the" in text)


class Members:
    """Answers of a team: player_1 asks for a change `asks` times, and the others agree."""

    def __init__(self, asks: int) -> None:
        self.asks, self.asked = asks, list[tuple[str, int, str]]()

    def __call__(self, request: Request) -> str:
        kind, seat = kind_of(request), seat_of(request)
        self.asked.append((kind, seat, last(request)))
        plans = sum(one[0] == "plan" for one in self.asked)
        if kind == "plan":
            return f"I think so.\nPlan: design {plans}"
        if kind == "judge" and seat == 1 and self.asks:
            self.asks -= 1
            return "Change: I hold the basket already."
        return "Agree" if kind == "judge" else "Thought: by the plan.\nAction: Wait()"


def play(asks: int, **settings: int) -> tuple[EpisodeRecord, Members]:
    members = Members(asks)
    (record,) = palestra.play(
        ID, agents=CaPo(model=Free(members), **settings), seed=1, num_players=3, steps=8
    )
    return record, members


def phases(record: EpisodeRecord) -> list[str]:
    """By step the phase of each seat, as in "paa"."""
    return ["".join(turn.facts["phase"][0] for turn in step.turns) for step in record.steps]


def test_a_plan_that_nobody_objects_to_costs_one_move() -> None:
    record, members = play(asks=0)
    assert phases(record) == ["paa"] + ["aaa"] * 7
    judged = [(seat, text) for kind, seat, text in members.asked if kind == "judge"]
    assert [seat for seat, _ in judged] == [1, 2]  # once each, and not the designer
    assert all('player_0 proposes: "design 1"' in text for _, text in judged)
    acts = [text for kind, _, text in members.asked if kind == "act"]
    assert "The team's plan" not in acts[0]
    assert all('The team\'s plan: "design 1"' in text for text in acts[2:])


def test_a_change_is_told_to_all_and_the_designer_revises() -> None:
    record, members = play(asks=1, talks=2)
    assert phases(record)[:4] == ["paa", "aca", "paa", "aaa"]
    second = [text for kind, _, text in members.asked if kind == "plan"][1]
    assert 'You proposed: "design 1"' in second
    assert 'player_1: "I hold the basket already."' in second
    assert 'The team\'s plan: "design 2"' in members.asked[-1][2]


def test_talks_end_the_discussion() -> None:
    record, _ = play(asks=99, talks=1)
    assert phases(record)[:5] == ["paa", "aca", "paa", "aaa", "aaa"]
    record, _ = play(asks=99, talks=0)
    assert phases(record)[:3] == ["paa", "aaa", "aaa"]


def test_progress_reopens_the_discussion() -> None:
    """The carrier at seat 2 brings something; the designer speaks in the next step."""
    members = Members(0)
    (record,) = palestra.play(
        ID, agents=[CaPo(model=Free(members))] * 2 + ["carrier:claims=false"], seed=1, num_players=3
    )
    brought = [n for n, s in enumerate(record.steps) for e in s.events if e.kind == "brought"]
    spoken = [n for n, s in enumerate(record.steps) if s.turns[0].facts.get("phase") == "plan"]
    assert spoken == [0, *(n + 1 for n in brought if n + 1 < len(record.steps))]
    assert len(spoken) > 1


def test_games_without_talk_and_phases_without_it() -> None:
    agent = CaPo(model=Free("Agree"))
    with pytest.raises(InvalidOption, match="use the agent 'team'"):
        palestra.play("games/TicTacToe-v0", agents=[agent, "first"])

    def answer(request: Request) -> str:
        text = last(request)
        if "You design" in text:
            return "Plan: clear 20 each"
        return "Agree" if "If this fits" in text else "Thought: so.\nAction: Clear(amount=20)"

    (record,) = palestra.play(
        "text/Trash-v0", agents=CaPo(model=Free(answer)), seed=1, rounds=2, invalid="random"
    )
    assert [turn.facts["phase"] for turn in record.steps[0].turns] == ["act"] * 5
    assert any(turn.facts.get("phase") == "plan" for turn in record.turns)
