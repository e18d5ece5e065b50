"""MASS: what is tried in which stage, and shares by hand."""

from __future__ import annotations

from math import exp
from pathlib import Path

import pytest
from adapter_worlds import last
from optimiser_worlds import doors, follows, optimise
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra_adapters.optimisers.mass import BLOCKS, Mass, joined, shares
from palestra_adapters.workflows.steps import (
    AskStep,
    RecallStep,
    ToolStep,
    VoteStep,
    Workflow,
    check_workflow,
)


def test_shares_by_hand() -> None:
    found = shares({"tool": 2.0, "debate": 1.0}, heat=0.5)
    assert found["tool"] == pytest.approx(exp(2) / (exp(2) + 1))
    assert sum(found.values()) == pytest.approx(1.0)


def test_blocks_are_joined_in_one_order() -> None:
    ask = AskStep("answer", "Win.")
    whole = check_workflow(joined(ask, BLOCKS))
    assert [step.name for step in whole.steps] == ["look", "answer", "vote", "reflect", "debate"]
    assert [step.reads for step in whole.steps[1:]] == [  # type: ignore[union-attr]
        ("look",),
        ("answer",),
        ("vote",),
        ("reflect",),
    ]
    assert whole.calls == 3 + 2 + 4
    assert joined(ask, {}).steps == (ask,)
    assert [type(s) for s in joined(ask, {"aggregate": None}).steps] == [AskStep, VoteStep]


def proposer(request: Request) -> str:
    """Writes another prompt each time it is asked, by what it reads."""
    assert "Paid" in last(request)
    step = last(request).partition("Its step '")[2].partition("'")[0]
    return f"<START>{step}: {len(last(request))}<END>"


def test_only_the_tool_helps_and_is_found(tmp_path: Path) -> None:
    """The player takes the first door unless it reads what a lookahead found."""
    search = Mass(prompts=1, topologies=3, heat=0.05)
    found, run = optimise(search, tmp_path, env=doors(), proposer=proposer, player=follows)
    archive = run.studio.archive
    assert [one.how for one in archive[:2]] == ["predictor", "prompt"]
    firsts = [one.how for one in archive if one.how in BLOCKS]
    assert firsts[:4] == list(BLOCKS)
    assert run.studio.best.mean == 1.0
    assert any(isinstance(step, ToolStep) for step in run.studio.best.workflow.steps)
    alone = [one.mean for one in archive if one.how in ("reflect", "debate", "aggregate")]
    assert alone == [0.0] * len(alone)
    later = [one for one in archive if one.how.startswith("tool+")]
    assert all(isinstance(one.workflow.steps[0], ToolStep) for one in later)


def test_no_workflow_is_joined_of_more_answers_than_allowed(tmp_path: Path) -> None:
    search = Mass(prompts=0, topologies=20, heat=50.0, calls=4)
    _, run = optimise(search, tmp_path, env=doors(), proposer=proposer, seed=3)
    joints = [one for one in run.studio.archive if "+" in one.how]
    assert joints
    assert all(one.workflow.calls <= 4 for one in joints)
    keys = [one.workflow.key for one in run.studio.archive]
    assert len(keys) == len(set(keys))


def test_a_start_without_an_answer_is_refused(tmp_path: Path) -> None:
    start = Workflow((RecallStep("before"), AskStep("plan", answers=False)))
    with pytest.raises(InvalidOption, match="asks for a move"):
        list(Mass().run(None, start))  # type: ignore[arg-type]
