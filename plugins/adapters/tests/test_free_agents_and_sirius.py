"""Free agents: who is released, and who follows. SiriuS: what is kept, and what is repaired."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import palestra
import pytest
from adapter_worlds import Free, last, trail
from optimiser_worlds import doors
from palestra import InvalidOption, Turn
from palestra.agents.agent import FunctionAgent
from palestra.agents.models import Request
from palestra_adapters.adapter import Plain
from palestra_adapters.memory.sirius import Sirius
from palestra_adapters.routers.free_agent import FreeAgent, Incumbent, RosterEvent


def goes(side: str, name: str = "") -> FunctionAgent:
    return FunctionAgent(lambda turn: turn.parse(f"Go(to='{side}')"), name or side)


def collapses(after: int) -> FunctionAgent:
    """Goes right until it has decided `after` times, then left."""
    count = iter(range(10_000))

    def choose(turn: Turn) -> Any:
        return turn.parse("Go(to='right')" if next(count) < after else "Go(to='left')")

    return FunctionAgent(choose, "collapses")


def played(agent: FreeAgent, episodes: int) -> list[float]:
    records = palestra.play(doors(), agents=[agent], episodes=episodes, live=1)
    return [record.returns[0] for record in records]


def test_the_moving_average_and_its_checks_by_hand() -> None:
    place = Incumbent("a")
    seen = []
    for worth in (1.0, 0.0, 0.0, 1.0, 0.0):
        place.note(worth, 0.5, 0.4)
        seen.append((place.average, place.low))
    assert seen == [(1.0, 0), (0.5, 0), (0.25, 1), (0.625, 0), (0.3125, 1)]


def test_a_collapse_is_detected_when_the_rule_says_and_the_better_one_promoted() -> None:
    agent = FreeAgent(
        agents=[collapses(10), goes("left", "no better"), goes("right", "good")],
        rate=0.3,
        threshold=0.5,
        checks=3,
        probation=3,
    )
    paid = played(agent, 30)
    # by hand: averages 0.7, 0.49, 0.343, 0.240 after the collapse: the third check is episode 14
    first = agent.timeline[0]
    assert first == RosterEvent(14, "warned", "1: collapses", first.number)
    assert first.number == pytest.approx(0.7**4)
    assert [(c.what, c.who) for c in agent.timeline[1:]] == [
        ("dismissed", "2: no better"),
        ("warned", "1: collapses"),
        ("promoted", "3: good"),
    ]
    # three starts of the first trial, three checks, and three of the second
    assert agent.timeline[1].episode == 16
    assert agent.timeline[2].episode == 19
    assert agent.timeline[3].episode == 21
    assert agent.timeline[3].number == 1.0
    assert paid == [1.0] * 10 + [0.0] * 11 + [1.0] * 9
    assert agent.places[0].name == "3: good"


def test_an_agent_that_is_good_enough_is_never_released() -> None:
    agent = FreeAgent(agents=[goes("middle"), goes("right")], threshold=0.5, checks=1)
    assert played(agent, 20) == [0.5] * 20
    assert agent.timeline == []


def test_the_gate_prefers_the_incumbent_that_does_better() -> None:
    agent = FreeAgent(
        agents=[goes("left"), goes("right"), goes("middle")], places=2, threshold=0.0, gate=6.0
    )
    assert sum(played(agent, 60)) > 45
    with pytest.raises(InvalidOption, match="more agents than places"):
        FreeAgent(target="random+first", places=2)


def test_it_is_named_in_a_string() -> None:
    records = palestra.play(
        "games/TicTacToe-v0", agents=["free-agent:first+random,checks=1", "random"], episodes=6
    )
    assert {turn.facts.get("worker") for r in records for turn in r.turns if turn.seat == 0} == {0}


# SiriuS

ROOM = {"start": {"a": 0.0, "b": 0.0}, "a": {"end": 0.0}, "b": {"end": 1.0}}


def advised(asked: list[str]) -> Callable[[Request], str]:
    """Goes to a, unless advice or an example says b."""

    def answer(request: Request) -> str:
        text = "\n".join(message.content for message in request.messages)
        asked.append(text)
        if "as advice for the same start" in last(request):
            return "Going to a pays nothing: go to b."
        if "You are at start" in last(request):
            said = "go to b" in text or "You: \"Go(to='b')\"" in text
            return "Go(to='b')" if said else "Go(to='a')"
        return "Go(to='end')"

    return answer


def runs(agent: Sirius, n: int) -> list[float]:
    game = trail(ROOM, top=1.0)
    return [r.returns[0] for r in palestra.rollouts(game, agents=[agent], n=n, seed=3, live=1)]


def test_a_failure_is_repaired_and_kept_without_its_feedback(tmp_path: Path) -> None:
    asked: list[str] = []
    agent = Sirius(inner=Plain(model=Free(advised(asked))), shown=1)
    assert runs(agent, 4) == [0.0, 1.0, 1.0, 1.0]
    agent.study()
    assert [one.repaired for one in agent.library] == [True, False, False]
    assert "You were" not in asked[2]
    assert "paid 0, 0% of the way" in asked[2]
    assert 'Advice on your last try from this start: "Going to a' in asked[3]
    assert "Advice" not in asked[5]  # an example has taken its place
    assert "A successful episode:\nYou are at start" in asked[5]
    assert agent.export(tmp_path / "rows.jsonl") == 3
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert "Advice" not in json.dumps(rows)
    assert [m["role"] for m in rows[0]["messages"]] == ["system"] + ["user", "assistant"] * 2
    assert rows[0]["messages"][2]["content"] == "Go(to='b')"
    assert agent.export(tmp_path / "none.jsonl", role="nobody") == 0


def test_without_repair_nothing_is_learnt_from_failures() -> None:
    """The paper's ordering: augmentation of failures does better than successes alone."""
    agent = Sirius(inner=Plain(model=Free(advised([]))), repair=False)
    assert runs(agent, 4) == [0.0] * 4
    assert agent.library == []


def test_the_library_is_kept_by_role_and_in_a_file(tmp_path: Path) -> None:
    file = str(tmp_path / "library.json")
    agent = Sirius(inner=Plain(model=Free(advised([]))), memory=file, size=2)
    runs(agent, 5)
    agent.study()
    again = Sirius(inner=Plain(model=Free(advised([]))), memory=file)
    assert len(agent.library) == len(again.library) == 2
    assert again.roles() == agent.roles()
    assert runs(again, 1) == [1.0]  # from the first try on
    again.clear()
    assert again.roles() == []
