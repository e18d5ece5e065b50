"""AgentFlow: four modules around one memory, and the outcome for the planner alone."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import palestra
import pytest
from adapter_worlds import Free, trail
from palestra.agents.models import Request
from palestra_adapters.talks import settle, talks_of
from palestra_adapters.teams.agentflow import EMPTY, ROLES, AgentFlow
from palestra_rewards import Group, estimate

WORLD = trail({"start": {"left": 0.0, "right": 1.0}}, top=1.0)


def module(request: Request) -> str:
    """Which module a request is for."""
    form = request.messages[0].content
    signs = {"planner": "You plan", "executor": "You carry out", "verifier": "You check"}
    return next((role for role, sign in signs.items() if sign in form), "generator")


def flow(sides: Callable[[], str], stop_at: int) -> Callable[[Request], str]:
    def reply(request: Request) -> str:
        read = request.messages[-1].content
        if module(request) == "generator":
            side = "right" if 'Result: "go right"' in read else "left"
            return f"Thought: as found.\nAction: Go(to='{side}')"
        if module(request) == "planner":
            return "Goal: find the way\nCommand: say which way"
        if module(request) == "executor":
            return f"go {sides()}"
        return "Enough.\nSTOP" if read.count("Step ") >= stop_at else "Go on.\nCONTINUE"

    return reply


def test_the_verifier_ends_the_steps_and_all_read_one_memory() -> None:
    sides = iter(["left", "right"])
    model = Free(flow(lambda: next(sides), stop_at=2))
    (record,) = palestra.play(WORLD, agents=[AgentFlow(model=model, rounds=5)])
    assert record.turns[0].text == "Go(to='right')"
    order = ["planner", "executor", "verifier"] * 2 + ["generator"]
    assert [module(request) for request in model.requests] == order
    (talk,) = talks_of([record])
    assert [talk.players[turn.seat] for turn in talk.turns] == order
    assert talk.tags["roles"] == list(ROLES)
    asked = [request.messages[-1].content for request in model.requests]
    assert EMPTY in asked[0]
    assert 'The step:\n"Goal: find the way\\nCommand: ' in asked[1]
    assert 'Result: "go left"' in asked[2]
    assert 'Result: "go left"' in asked[3]  # the planner's second step reads the first
    assert 'Result: "go right"' in asked[6]


def test_the_executor_reads_what_the_tool_found_that_the_planner_chose() -> None:
    """The world pays 1 for going right and nothing for going left."""

    def chooses(tool: str) -> Callable[[Request], str]:
        def reply(request: Request) -> str:
            read = request.messages[-1].content
            if module(request) == "planner":
                return f"Goal: find the way\nCommand: say which way is paid\nTool: {tool}"
            if module(request) == "executor":
                better = re.findall(r"to='(left|right)'\): (?:the game is over, payoff )?1", read)
                return f"go {better[0] if better else 'left'}"
            return flow(lambda: "", stop_at=1)(request)

        return reply

    for tool, side in (("lookahead", "right"), ("Outcomes.", "right"), ("none", "left")):
        model = Free(chooses(tool))
        (record,) = palestra.play(WORLD, agents=[AgentFlow(model=model, rounds=1)])
        assert record.turns[0].text == f"Go(to='{side}')"
        assert ["Tool: none; or" in request.messages[0].content for request in model.requests] == [
            module(request) == "planner" for request in model.requests
        ]
        assert ("The tool" in model.requests[1].messages[-1].content) == (side == "right")
    model = Free(chooses("lookahead"))
    (record,) = palestra.play(WORLD, agents=[AgentFlow(model=model, rounds=1, playouts=0)])
    assert record.turns[0].text == "Go(to='left')"
    assert not any("Tool: none" in request.messages[0].content for request in model.requests)


def test_steps_end_with_the_rounds() -> None:
    model = Free(flow(lambda: "right", stop_at=9))
    (record,) = palestra.play(WORLD, agents=[AgentFlow(model=model, rounds=2)])
    assert len(model.requests) == 7
    assert record.turns[0].usage.calls == 7


def test_the_outcome_goes_to_the_planner_alone() -> None:
    """Three talks of one decision end right, left and right: GRPO's 1/sqrt(2) and -sqrt(2)."""
    sides = iter(["right", "left", "right"])
    model = Free(flow(lambda: next(sides), stop_at=1))
    records = palestra.play(WORLD, agents=[AgentFlow(model=model, games=3)])
    talks = settle(records, game=WORLD)
    assert [talk.returns[0] for talk in talks] == [1.0, 0.0, 1.0]
    found = estimate("flow-grpo", Group.of(talks), planners=["planner"]).per_episode()
    for values, score in zip(found, (np.sqrt(0.5), -np.sqrt(2), np.sqrt(0.5)), strict=True):
        assert values == pytest.approx([score, 0.0, 0.0, 0.0])


def test_models_are_assigned_to_modules_in_order() -> None:
    planner = Free(flow(lambda: "right", stop_at=1), "planner")
    others = Free(flow(lambda: "right", stop_at=1), "others")
    palestra.play(WORLD, agents=[AgentFlow(model=[planner, others])])
    assert [module(request) for request in planner.requests] == ["planner"]
    assert [module(request) for request in others.requests] == [*ROLES[1:]]
