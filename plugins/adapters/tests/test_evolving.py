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
from palestra_adapters.optimisers.evo_agent_x import EvoAgentX, mix_chances
from palestra_adapters.optimisers.search import WorkflowEpisode


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


def test_parents_are_drawn_by_the_mixture() -> None:
    """Of scores 0 and 1 at heat ln 3: softmax 1/4 and 3/4, half of it even: 3/8 and 5/8."""
    assert mix_chances([0.0, 1.0], 0.5, 1.0986122886681098) == pytest.approx([0.375, 0.625])
    assert mix_chances([0.3, 0.9, 0.1], 1.0, 5.0) == pytest.approx([1 / 3] * 3)
