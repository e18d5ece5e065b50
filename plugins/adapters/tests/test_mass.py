"""MASS: what is tried in which stage, and shares by hand."""

from __future__ import annotations

from collections import Counter
from math import exp
from pathlib import Path

import palestra
import pytest
from adapter_worlds import Free, last, trail
from optimiser_worlds import doors, follows, optimise
from palestra import InvalidOption, Rng, UnknownName
from palestra.agents.models import Request
from palestra_adapters.optimisers.mass import BLOCKS, SIZES, Mass, draw_sizes, joined, shares
from palestra_adapters.workflows.player import WorkflowPlayer
from palestra_adapters.workflows.steps import (
    AskStep,
    RecallStep,
    ToolStep,
    VoteStep,
    Workflow,
    check_workflow,
)

USUAL = ["tool", "aggregate", "reflect", "debate"]


def test_shares_by_hand() -> None:
    found = shares({"tool": 2.0, "debate": 1.0}, heat=0.5)
    assert found["tool"] == pytest.approx(exp(2) / (exp(2) + 1))
    assert sum(found.values()) == pytest.approx(1.0)


def test_blocks_are_joined_in_one_order() -> None:
    ask = AskStep("answer", "Win.")
    whole = check_workflow(joined(ask, {name: BLOCKS[name] for name in USUAL}))
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


def test_sizes_are_numbers_of_summaries_answers_critiques_and_rounds() -> None:
    """By hand: 2 summaries, 5 answers, 3 critiques with revisions, 4 rounds of two members."""
    sizes = {"summary": 2, "aggregate": 5, "reflect": 3, "debate": 4}
    whole = check_workflow(joined(AskStep("answer", "Win."), BLOCKS, sizes))
    names = ["summary", "summary-2", "look", "answer", "vote", "reflect", "debate"]
    assert [step.name for step in whole.steps] == names
    assert whole.calls == 2 + 5 + 2 * 3 + 2 * 4
    reads = [step.reads for step in whole.steps if not isinstance(step, ToolStep)]
    assert reads == [
        (),
        ("summary",),
        ("summary-2", "look"),
        ("answer",),
        ("vote",),
        ("reflect",),
    ]
    ask = whole.step("answer")
    assert isinstance(ask, AskStep)
    assert not ask.transcript


def test_sizes_are_drawn_evenly_for_the_blocks_that_have_one() -> None:
    rng, drawn = Rng(5), Counter[tuple[str, int]]()
    for _ in range(4000):
        found = draw_sizes(["tool", "aggregate", "debate"], rng)
        assert set(found) == {"aggregate", "debate"}
        drawn.update(found.items())
    assert {size for name, size in drawn if name == "aggregate"} == {3, 5, 7, 9}
    assert {size for name, size in drawn if name == "debate"} == {2, 3, 4, 5}
    assert all(abs(count - 1000) < 5 * (4000 * 3 / 16) ** 0.5 for count in drawn.values())
    largest = {name: max(sizes) for name, sizes in SIZES.items()}
    check_workflow(joined(AskStep("answer"), BLOCKS, largest))


@pytest.mark.parametrize("summaries", [1, 3])
def test_who_answers_after_summaries_reads_the_last_of_them_and_not_the_episode(
    summaries: int,
) -> None:
    """The first summary is of all that was seen; who answers is shown the position alone."""
    asked: dict[str, list[str]] = {"summary": [], "answer": []}

    def player(request: Request) -> str:
        text = last(request)
        kind = "summary" if "Summarise what" in text else "answer"
        asked[kind].append(text)
        if kind == "summary":
            return f"summary {text.count('wrote:')}"
        return "Thought: -\nAction: Go(to='b')"

    world = trail({"a": {"b": 0.0}, "b": {"a": 0.0, "b": 1.0}}, start="a", limit=3, top=3.0)
    flow = joined(
        AskStep("answer", "Go on."), {"summary": BLOCKS["summary"]}, {"summary": summaries}
    )
    agents = [WorkflowPlayer(file=flow, model=Free(player))]
    palestra.play(world, agents=agents, seed=1)
    assert len(asked["answer"]) == 3
    assert len(asked["summary"]) == 3 * summaries
    first, answer = asked["summary"][-summaries], asked["answer"][-1]
    assert first.startswith(
        "You go to b and are paid 0.\nYou go to b and are paid 1.\nYou are at b"
    )
    name = f"summary-{summaries}" if summaries > 1 else "summary"
    assert answer == (
        "You are at b, step 2.\nplayer_0, you may play: Go(to='a'|'b')\n\n"
        f'{name} wrote:\n"summary {min(1, summaries - 1)}"\n\nGo on.'
    )


def test_a_block_that_is_unknown_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown block 'vote'"):
        Mass(blocks="tool+vote")


def test_drawn_sizes_keep_to_the_calls_allowed(tmp_path: Path) -> None:
    search = Mass(
        prompts=0, topologies=12, heat=50.0, calls=14, sizes=True, blocks="+".join(BLOCKS)
    )
    _, run = optimise(search, tmp_path, env=doors(), proposer=proposer, seed=3, train=1)
    joints = [one.workflow for one in run.studio.archive if "+" in one.how]
    assert max(flow.calls for flow in joints) <= 14
    votes = {s.samples for w in joints for s in w.steps if isinstance(s, AskStep)} - {1}
    assert len(votes) > 1
    assert votes <= {3, 5, 7, 9}


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
    assert firsts[:4] == USUAL
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
