"""Agents of Change and EvoAgentX: which edits are kept, and what each role reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from adapter_worlds import Answer, last
from optimiser_worlds import doors, optimise, prompted
from palestra import InvalidOption, UnknownName
from palestra.agents.models import Request
from palestra_adapters.optimisers.agents_of_change import AgentsOfChange, between
from palestra_adapters.optimisers.evo_agent_x import EvoAgentX, mix_chances, read_plan
from palestra_adapters.optimisers.search import WorkflowEpisode
from palestra_adapters.workflows.steps import AskStep


def obeys(request: Request) -> str:
    """Goes where its prompt says, else left."""
    text = "\n".join(message.content for message in request.messages)
    told = re.findall(r"Always go (\w+)", text)
    return f"Thought: as told.\nAction: Go(to='{told[-1] if told else 'left'}')"


def writes(*prompts: str, asked: list[str] | None = None) -> Answer:
    """Writes these prompts one after the other; analyses and criticises in a sentence."""
    left = iter(prompts)

    def answer(request: Request) -> str:
        text = last(request)
        if asked is not None:
            asked.append(text)
        if "<START>" in text:
            return f"<START>{next(left, 'Always go left')}<END>"
        if "JSON object" in text:
            return "none"
        return "It went through the wrong door."

    return answer


def test_edits_are_kept_only_if_they_do_better_on_the_same_seeds(tmp_path: Path) -> None:
    """left 0, middle 1/2, right 1: by hand, the edits to the middle and to the right are kept."""
    asked: list[str] = []
    edits = ("Always go middle", "Always go left.", "Always go right", "Always go middle.")
    found, run = optimise(
        AgentsOfChange(rounds=4),
        tmp_path,
        player=obeys,
        proposer=writes(*edits, asked=asked),
        env=doors(),
        start=prompted("Play."),
    )
    assert [variant.mean for variant in run.studio.archive] == [0.0, 0.5, 0.0, 1.0, 0.5]
    assert [variant.parents for variant in run.studio.archive] == [(), (0,), (1,), (1,), (3,)]
    assert (found.start.value, found.best.value) == (0.0, 1.0)
    analyst, researcher, coder = asked[:3]
    assert "answer: Play." in analyst
    assert "Paid 0:" in analyst
    assert "You go to left and are paid 0." in analyst
    assert "The analyser reports:\nIt went through the wrong door." in researcher
    assert "The researcher advises:\nIt went through the wrong door." in coder
    assert "edit 2, undone, 0.500 became 0.000" in asked[7]


def test_a_gain_within_chance_is_undone_unless_the_mean_decides() -> None:
    def returns(*paid: float) -> list[WorkflowEpisode]:
        return [WorkflowEpisode(seed, one) for seed, one in enumerate(paid)]

    old, new = returns(0, 1, 0, 1), returns(1, 0, 1, 1)
    assert not AgentsOfChange().better(old, new)
    assert AgentsOfChange(keep="mean").better(old, new)
    assert AgentsOfChange().better(returns(0, 0, 0), returns(1, 1, 1))
    assert not AgentsOfChange(keep="mean").better(old, old)
    with pytest.raises(InvalidOption, match="interval or mean"):
        AgentsOfChange(keep="hope")  # type: ignore[arg-type]
    assert between("so: <START> a <END> b") == "a"
    assert between("nothing") == ""


def test_textgrad_and_mipro_find_the_door_in_turns(tmp_path: Path) -> None:
    asked: list[str] = []
    found, run = optimise(
        EvoAgentX(rounds=2, optimisers="textgrad+mipro"),
        tmp_path,
        player=obeys,
        proposer=writes("Always go middle", "Always go right", asked=asked),
        env=doors(),
        start=prompted("Play."),
    )
    assert [variant.how for variant in run.studio.archive] == ["start", "textgrad", "mipro"]
    assert found.best.value == 1.0
    assert "Criticise the prompt" in asked[0]
    assert "Criticism of it:\nIt went through the wrong door." in asked[1]
    assert "0.500: Always go middle" in asked[2]
    assert "-> Go(to='middle')" in asked[2]


def test_aflow_reads_what_was_tried_on_its_parent(tmp_path: Path) -> None:
    asked: list[str] = []
    workflow = (
        '{"note": "go right", "steps": [{"kind": "ask", "name": "answer", '
        '"prompt": "Always go right"}]}'
    )

    def proposer(request: Request) -> str:
        asked.append(last(request))
        return workflow

    _, run = optimise(
        EvoAgentX(rounds=1, optimisers="aflow"),
        tmp_path,
        player=obeys,
        proposer=proposer,
        env=doors(),
        start=prompted("Play."),
    )
    assert [variant.mean for variant in run.studio.archive] == [0.0, 1.0]
    assert "Changes of it that were tried:\nnone" in asked[0]
    with pytest.raises(UnknownName, match="textgrad"):
        EvoAgentX(optimisers="sgd")


PLANNED = (
    '{"tasks": [{"name": "scout", "does": "Find out where the doors lead."}, {"name": "judge", '
    '"does": "Doubt."}, {"name": "walker", "does": "Go.", "reads": ["scout", "judge"]}]}'
)


def test_the_first_workflow_is_written_from_a_goal(tmp_path: Path) -> None:
    """A plan that cannot be read is asked for again; then each sub-task gets its own prompt."""
    asked: list[str] = []
    plans = iter(["I would walk.", PLANNED.replace('"judge"]', '"cook"]'), PLANNED])

    def proposer(request: Request) -> str:
        asked.append(last(request))
        if "Split what it does" in asked[-1]:
            return next(plans)
        name = asked[-1].rpartition("sub-task '")[2].partition("'")[0]
        return "no prompt" if name == "judge" else f"<START>Always go right, {name}.<END>"

    search = EvoAgentX(rounds=1, optimisers="aflow", goal="Earn all that can be earned.")
    _, run = optimise(
        search, tmp_path, env=doors(), player=obeys, proposer=proposer, start=prompted("Play.")
    )
    start, made = run.studio.archive[:2]
    assert (start.mean, made.mean, made.how) == (0.0, 1.0, "goal")
    assert made.workflow.steps == (
        AskStep("scout", "Always go right, scout.", answers=False),
        AskStep("judge", "Doubt.", answers=False),
        AskStep("walker", "Always go right, walker.", reads=("scout", "judge")),
    )
    assert [text.count("Split what it does") for text in asked[:6]] == [1, 1, 1, 0, 0, 0]
    assert all(text.count("Earn all that can be earned.") == 1 for text in asked[:6])
    assert "It was refused: no JSON object" in asked[1]
    assert "'walker' reads 'cook', which is no earlier step" in asked[2]
    assert "- judge: Doubt.\n- walker: Go.\n\nWrite the prompt" in asked[5]
    assert made.asked.calls == 6


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"tasks": []}', "length >= 1"),
        ('{"tasks": [{"name": "a"}]}', "missing required field `does`"),
        ('{"tasks": [{"name": "a", "does": "x", "reads": ["a"]}]}', "no earlier step"),
        ('{"tasks": [{"name": "a", "does": "x"}, {"name": "a", "does": "y"}]}', "two steps"),
    ],
)
def test_a_plan_that_cannot_be_done_is_refused(text: str, error: str) -> None:
    with pytest.raises(InvalidOption, match=error):
        read_plan(text)


def test_a_goal_without_a_plan_leaves_the_start_alone(tmp_path: Path) -> None:
    asked: list[str] = []

    def proposer(request: Request) -> str:
        asked.append(last(request))
        return "none"

    search = EvoAgentX(rounds=1, optimisers="mipro", goal="Win.")
    _, run = optimise(search, tmp_path, env=doors(), player=obeys, proposer=proposer)
    assert [one.how for one in run.studio.archive][:1] == ["start"]
    assert "goal" not in [one.how for one in run.studio.archive]
    assert sum("Split what it does" in text for text in asked) == 3


def test_parents_are_drawn_by_the_mixture() -> None:
    """Of scores 0 and 1 at heat ln 3: softmax 1/4 and 3/4, half of it even: 3/8 and 5/8."""
    assert mix_chances([0.0, 1.0], 0.5, 1.0986122886681098) == pytest.approx([0.375, 0.625])
    assert mix_chances([0.3, 0.9, 0.1], 1.0, 5.0) == pytest.approx([1 / 3] * 3)
