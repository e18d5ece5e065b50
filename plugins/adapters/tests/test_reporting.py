"""What adapters report of their decisions: modes, proof, workers, grades, votes and prompts."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from adapter_worlds import Free, last, trail
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra.testing import ScriptedModel
from palestra_adapters.omit import Omit
from palestra_adapters.routers.modes import MODES, ROUTE, Modes
from palestra_adapters.search.agents import BestOfN
from palestra_adapters.snap import Snap
from palestra_adapters.teams.aime import Aime
from palestra_adapters.teams.delegate import Delegate
from palestra_adapters.teams.topologies import Topologies

STEPS = {f"p{i}": {f"p{i + 1}": 1.0} for i in range(6)}
FORK = {"start": {"low": 0.0, "high": 1.0, "mid": 0.5}, "low": {}, "high": {}, "mid": {}}


def walk(agent: Any, **settings: Any) -> Any:
    (record,) = palestra.play(trail(STEPS, start="p0"), agents=[agent], **settings)
    assert not record.error, record.error
    return record


def onward(text: str) -> str:
    place = int(text.rsplit("at p", 1)[1].split(",")[0])
    return f"Action: Go(to='p{place + 1}')"


# Modes


@pytest.mark.parametrize(("said", "mode"), [(m, m) for m in MODES] + [("no idea", "reasoning")])
def test_the_model_chooses_a_mode_once_for_an_episode(said: str, mode: str) -> None:
    def answer(request: Request) -> str:
        if ROUTE in last(request):
            return said
        if mode == "reasoning" and "Action:" in str(request.messages):
            return "Thought: on.\n" + onward(str(request.messages[1:]))
        return onward(str(request.messages)).removeprefix("Action: ")

    model = Free(answer)
    record = walk(Modes(model=model, scorer="playouts"))
    assert {turn.facts["mode"] for turn in record.turns} == {mode}
    assert sum(ROUTE in last(request) for request in model.requests) == 1
    assert any(turn.thought for turn in record.turns) == (mode == "reasoning")


def test_a_mode_that_was_named_is_not_asked_for() -> None:
    model = ScriptedModel("instant")
    walk(Modes(model=model, mode="instant"))
    assert not any(ROUTE in last(request) for request in model.requests)
    with pytest.raises(InvalidOption, match="mode"):
        Modes(model=model, mode="quick")  # type: ignore[arg-type]


def test_agentic_turns_look_ahead() -> None:
    game = trail(FORK, start="start")
    agent = Modes(model=ScriptedModel("agentic"), mode="agentic", scorer="playouts")
    (record,) = palestra.play(game, agents=[agent])
    assert record.turns[0].facts["candidates"].keys() == {f"Go(to='{n}')" for n in FORK["start"]}
    assert record.turns[0].text == "Go(to='high')"


# Proof


def test_what_was_named_last_is_the_evidence() -> None:
    named = {1: "", 2: "Evidence: 1, 2\n", 3: "", 4: "Evidence: 4, 2, 9, 2\n", 5: "", 6: ""}

    def answer(request: Request) -> str:
        number = int(last(request).split("Turn ")[1].split(".")[0])
        return f"Thought: so.\n{named[number]}{onward(last(request))}"

    record = walk(Snap(model=Free(answer)))
    found = [turn.facts["evidence"] for turn in record.turns]
    assert found == [[], [0, 1], [0, 1], [3, 1], [3, 1], [3, 1]]
    assert [turn.thought for turn in record.turns] == ["so."] * 6


def test_a_refused_answer_is_no_turn_of_its_own() -> None:
    tries: list[str] = []

    def answer(request: Request) -> str:
        tries.append(last(request))
        if len(tries) == 2:
            return "Evidence: 2\nAction: nowhere"
        place = len(tries) - (len(tries) > 2)
        return f"Evidence: {place}\nAction: Go(to='p{place}')"

    record = walk(Snap(model=Free(answer)))
    assert record.turns[1].status == "retried"
    assert [turn.facts["evidence"] for turn in record.turns] == [[n] for n in range(6)]


# Workers


def test_a_planner_reads_reports_and_nothing_that_a_worker_was_shown() -> None:
    planner: list[Request] = []
    workers: list[Request] = []

    def answer(request: Request) -> str:
        rules = request.messages[0].content
        if "You are a worker" in rules:
            workers.append(request)
            if "at p3," in last(request):
                return "Report: I stand at the third place."
            return onward(last(request))
        planner.append(request)
        task = "Subtask: go to the third place\n" if len(planner) == 1 else ""
        return f"Thought: plan.\n{task}{onward(last(request))}"

    record = walk(Delegate(model=Free(answer), moves=4))
    whose = [turn.facts.get("worker") for turn in record.turns]
    assert whose == [None, 0, 0, None, None, None]
    assert "go to the third place" in workers[0].messages[0].content
    assert "plan" not in "".join(m.content for r in workers for m in r.messages[1:])
    read = "\n".join(m.content for request in planner for m in request.messages)
    assert "I stand at the third place." in read
    assert "at p1," not in read
    assert "at p2," not in read
    assert record.turns[0].thought == "plan.\nSubtask: go to the third place"


def test_a_worker_that_may_move_no_more_is_asked_for_its_report() -> None:
    def answer(request: Request) -> str:
        if "You may make no more moves" in last(request):
            return "I am done."
        task = "" if "You are a worker" in request.messages[0].content else "Subtask: go on\n"
        return f"{task}{onward(last(request))}"

    model = Free(answer)
    record = walk(Delegate(model=model, moves=2))
    whose = [turn.facts.get("worker") for turn in record.turns]
    assert whose == [None, 0, None, 1, None, 2]
    assert any('The worker reports: "I am done."' in last(request) for request in model.requests)
    assert sum(turn.usage.calls for turn in record.turns) == len(model.requests)


def test_actors_are_made_for_parts_and_write_on_a_board_that_all_read() -> None:
    planner: list[Request] = []
    actors: list[Request] = []

    def answer(request: Request) -> str:
        if "In this part of a task" in request.messages[0].content:
            actors.append(request)
            if len(actors) == 2:
                return f"Progress: the second place is empty\n{onward(last(request))}"
            return "Report: I am there." if len(actors) == 3 else onward(last(request))
        planner.append(request)
        mark = ("now", "open") if len(planner) == 1 else ("done", "now")
        board = f"Board:\n[{mark[0]}] go to the third place\n[{mark[1]}] go on\n"
        who = ("a guide, who knows the way", "a runner", "nothing")[min(len(planner), 3) - 1]
        return f"Thought: plan.\n{board}Actor: {who}\n{onward(last(request))}"

    record = walk(Aime(model=Free(answer), moves=4))
    whose = [turn.facts.get("worker") for turn in record.turns]
    assert whose == [None, 0, 0, None, 1, 1]
    guide, runner = actors[0].messages[0].content, actors[-1].messages[0].content
    assert '"a guide, who knows the way"' in guide
    assert '"[now] go to the third place"\n"[open] go on"' in guide
    assert '"a runner"' in runner
    assert '"[now] go on"' in runner
    assert "guide" not in runner
    told = last(planner[1])
    assert '"Progress: the second place is empty"' in told
    assert 'The actor reports: "I am there."' in told
    assert "at p1," not in "".join(m.content for r in planner for m in r.messages)


# Searches, teams, prompts


def test_a_search_reports_what_it_thought_of_every_move() -> None:
    values = {"low": 0.2, "high": 0.9, "mid": 0.5}
    agent = BestOfN(
        model=ScriptedModel("x"), n=3, scorer=lambda spot: values[spot.episode.state.at]
    )
    further = FORK | {name: {"end": 0.0} for name in ("low", "high", "mid")} | {"end": {}}
    (record,) = palestra.play(trail(further, start="start"), agents=[agent])
    facts = record.turns[0].facts
    assert facts["candidates"] == {
        f"Go(to='{name}')": values[name] for name in ("low", "high", "mid")
    }
    assert facts["process"] == 0.9


def test_a_team_reports_its_votes() -> None:
    votes = iter(["low", "high", "high"] * 9)

    def answer(request: Request) -> str:
        return f"Thought: I see.\nAction: Go(to='{next(votes)}')"

    agent = Topologies(model=Free(answer), topology="independent", size=3)
    (record,) = palestra.play(trail(FORK, start="start"), agents=[agent])
    shares = record.turns[0].facts["candidates"]
    assert shares == {"Go(to='low')": pytest.approx(1 / 3), "Go(to='high')": pytest.approx(2 / 3)}
    assert record.turns[0].facts["confidence"] == pytest.approx(2 / 3)


def test_the_full_prompt_has_the_tokens_that_were_left_out() -> None:
    def answer(request: Request) -> str:
        return f"Omit: 1\n{onward(last(request))}"

    record = walk(Omit(model=Free(answer)))
    read = [turn.usage.tokens_in for turn in record.turns]
    full = [turn.facts["full tokens"] for turn in record.turns]
    assert read[:1] == full[:1]
    assert all(more >= less for more, less in zip(full, read, strict=True))
    assert sum(full) > sum(read)
