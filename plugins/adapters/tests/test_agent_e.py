"""Agent-E: an errand done by subtasks, and what the planner and the browser agent read."""

from __future__ import annotations

import re

import palestra
import pytest
from adapter_worlds import Free, last
from palestra import EpisodeRecord, InvalidOption
from palestra.agents.models import Request
from palestra_adapters.teams.agent_e import AgentE, split_task


def playing(request: Request) -> str:
    """Plans and browses the errand pay-person in two subtasks, each from its own prompt alone."""
    system, page = request.messages[0].content, last(request)
    if "You plan how a task" in system:
        return plans(system, page)
    if "Find the address" in system:
        return finds(system, page)
    return pays(system, page)


def plans(system: str, said: str) -> str:
    name, amount = re.findall(r"Send (.+) ([\d.]+) dollars\.", system)[0]
    if "reports" not in said:
        return f"I need it.\nNext: Find the address of {name}."
    if "@" in said:
        where = re.findall(r"\S+@[\w.]+\w", said)[0]
        return f"Next: Pay {amount} dollars to {where}"
    return "It is paid.\nDone:"


def finds(system: str, page: str) -> str:
    name = re.findall(r"address of (.+?)\.", system)[0]
    if "Page /people" not in page:
        return "Action: Goto(url='/people')"
    after = page.partition(f"'{name}'")[2]
    return f"Report: it is {re.findall(r'[^ ]+@[a-z.]+', after)[0].strip(chr(39))}"


def pays(system: str, page: str) -> str:
    amount, where = re.findall(r"Pay ([\d.]+) dollars to (\S+@[\w.]+\w)", system)[0]
    if "Page /payments/history" in page:
        return "Report: done"
    if "Page /payments/send" not in page:
        return "Action: Goto(url='/payments/send')"
    for label, value in (("To", where), ("Dollars", amount)):
        number = re.findall(rf"\[(\d+)\] textbox '{label}'", page)[0]
        if value not in page:
            return f"Action: Fill(element={number}, text='{value}')"
    button = re.findall(r"\[(\d+)\] button 'Pay'", page)[0]
    return f"Action: Click(element={button})"


def errand(model: Free, **options: int) -> EpisodeRecord:
    agent = AgentE(model=model, **options)
    (record,) = palestra.play("web/AppWorld-v0", agents=[agent], kind="pay-person", seed=3)
    return record


def test_two_subtasks_do_an_errand() -> None:
    record = errand(Free(playing))
    assert record.returns == (1.0,)
    assert [turn.facts["subtask"] for turn in record.turns] == [1, 2, 2, 2, 2, 2]


def test_the_planner_sees_no_page_and_the_browser_agent_no_task() -> None:
    model = Free(playing)
    errand(model)
    kinds = {True: 0, False: 0}
    for request in model.requests:
        text = "\n".join(message.content for message in request.messages)
        planner = "You plan how a task" in text
        kinds[planner] += 1
        assert ("Task: Send" in text) == planner
        assert ("Page /" in text) != planner
    assert kinds == {True: 3, False: 7}


def test_a_subtask_starts_afresh() -> None:
    model = Free(playing)
    errand(model)
    paying = [
        r for r in model.requests if 'subtask and nothing else: "Pay' in r.messages[0].content
    ]
    assert len(paying[0].messages) == 2
    assert all("Find the address" not in m.content for r in paying for m in r.messages)


def test_one_who_may_move_no_more_is_asked_for_a_report() -> None:
    model = Free(playing)
    record = errand(model, moves=2)
    told = [r for r in model.requests if "You may make no more moves" in last(r)]
    assert told
    assert max(turn.facts.get("subtask", 0) for turn in record.turns) > 2 or record.returns[0] < 1


def test_a_browser_agent_cannot_end_the_task() -> None:
    """Its Stop is a report; after several of those without a move, the turn has no answer."""

    def stops(request: Request) -> str:
        planner = "You plan how a task" in request.messages[0].content
        return "Next: Look around." if planner else "Action: Stop(answer='7')"

    model = Free(stops)
    record = errand(model)
    assert record.returns == (0.0,)
    assert not any("Stop(" in (turn.text or "") for turn in record.turns)
    assert any("Stop(answer='7')" in last(r) and "reports" in last(r) for r in model.requests)


def test_games_without_a_task_are_refused_by_name() -> None:
    with pytest.raises(InvalidOption, match="use the agent 'delegate'"):
        split_task("You are at the start.")
