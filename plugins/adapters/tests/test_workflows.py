"""Workflows: what is accepted, what every step reads, and which move is played."""

from __future__ import annotations

from pathlib import Path

import palestra
import pytest
from adapter_worlds import Free, last, trail
from optimiser_worlds import DOORS, doors, follows
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra_adapters.optimisers.mutations import cross, mutate, without
from palestra_adapters.optimisers.wording import LANGUAGE, as_text, read_proposal
from palestra_adapters.talks import settle
from palestra_adapters.workflows.player import WorkflowPlayer
from palestra_adapters.workflows.steps import (
    AskStep,
    DebateStep,
    RecallStep,
    ReflectStep,
    Step,
    ToolStep,
    VoteStep,
    Workflow,
    check_workflow,
    known_workflows,
    read_workflow,
    write_workflow,
)


def door(side: str) -> str:
    return f"Thought: so it is\nAction: Go(to='{side}')"


def played(workflow: Workflow, model: Free) -> palestra.EpisodeRecord:
    return palestra.play(doors(), agents=[WorkflowPlayer(file=workflow, model=model)])[0]


def steps(*made: Step) -> Workflow:
    return Workflow(made)


@pytest.mark.parametrize(
    ("workflow", "says"),
    [
        (steps(AskStep("a"), AskStep("a")), "two steps are called 'a'"),
        (steps(AskStep("a", reads=("b",)), AskStep("b")), "no earlier step"),
        (steps(AskStep("plan", answers=False)), "must answer with a move"),
        (steps(AskStep("plan", answers=False), VoteStep("v", ("plan",))), "must read a step"),
        (steps(AskStep("a"), AskStep("b"), ReflectStep("r", ("a", "b"))), "reads 2 steps"),
        (steps(AskStep("a", samples=10)), "samples"),
        (steps(DebateStep("d", ("only one",))), "roles"),
        (steps(AskStep("Not a name")), "steps"),
    ],
)
def test_a_workflow_that_cannot_be_played_is_refused(workflow: Workflow, says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        check_workflow(workflow)


def test_the_language_shown_to_a_model_names_every_kind_of_step() -> None:
    for kind in ("ask", "vote", "reflect", "debate", "tool", "recall"):
        assert f"- {kind}:" in LANGUAGE


@pytest.mark.parametrize("workflow", known_workflows())
def test_what_is_written_for_a_model_or_a_file_reads_back(
    workflow: Workflow, tmp_path: Path
) -> None:
    assert read_proposal(f"Here it is:\n```json\n{as_text(workflow)}\n```")[1].key == workflow.key
    assert read_workflow(write_workflow(tmp_path / "it.json", workflow)) == workflow


def test_a_reply_that_is_no_workflow_says_why() -> None:
    with pytest.raises(InvalidOption, match="no JSON object"):
        read_proposal("I would add a vote.")
    with pytest.raises(InvalidOption, match="no earlier step"):
        read_proposal('{"steps": [{"kind": "vote", "name": "v", "reads": ["a"]}]}')


def test_the_majority_of_samples_is_played_and_ties_go_to_the_first() -> None:
    sides = iter(["left", "right", "right", "middle", "left"])
    vote = steps(AskStep("answer", samples=5), VoteStep("vote", ("answer",)))
    assert played(vote, Free(lambda _: door(next(sides)))).turns[0].text == "Go(to='left')"


def test_a_critique_is_read_and_no_fault_ends_the_reflection() -> None:
    def answer(request: Request) -> str:
        text = last(request)
        if "write only: no fault" in text:
            return (
                "no fault" if "right" in text.partition("The answer:")[2] else "Left pays nothing."
            )
        return door("right" if "Left pays nothing." in text else "left")

    model = Free(answer)
    record = played(steps(AskStep("a"), ReflectStep("r", ("a",), rounds=5)), model)
    assert record.returns == (1.0,)
    assert len(model.requests) == 4  # an answer, a critique, a revision, and no fault


def test_members_of_a_debate_read_each_other_only_from_the_second_round() -> None:
    def answer(request: Request) -> str:
        convinced = "Member" in last(request) and "right" in last(request)
        first = "You doubt" in request.messages[0].content
        return door("right" if first or convinced else "left")

    model = Free(answer)
    record = played(steps(DebateStep("d", ("You trust.", "You trust too.", "You doubt."))), model)
    assert record.returns == (1.0,)
    assert not any("Member" in last(request) for request in model.requests[:3])
    assert last(model.requests[3]).count(" answered:") == 2  # the others, not itself


def test_a_tool_asks_no_model_and_its_playouts_are_exact_in_a_game_without_chance() -> None:
    model = Free(follows)
    played(steps(ToolStep("ahead"), AskStep("a", reads=("ahead",))), model)
    (request,) = model.requests
    for line in ("Go(to='left'): 0.00", "Go(to='middle'): 0.50", "Go(to='right'): 1.00"):
        assert line in last(request)
    model = Free(follows)
    played(steps(ToolStep("o", tool="outcomes"), AskStep("a", reads=("o",))), model)
    assert "After Go(to='middle'): the game is over, payoff 0.5." in last(model.requests[0])


def test_recall_shows_the_last_moves_of_this_episode_only() -> None:
    way = trail({"start": {"a": 0.0}, "a": {"b": 0.0}, "b": {"c": 1.0}})
    model = Free(
        lambda r: (
            f"Thought: on\nAction: Go(to='{'abc'['at a' in last(r) or 2 * ('at b' in last(r))]}')"
        )
    )
    player = WorkflowPlayer(
        file=steps(RecallStep("memory", shown=1), AskStep("a", reads=("memory",))), model=model
    )
    palestra.play(way, agents=[player], episodes=2, live=1)
    shown = [last(request).partition("memory wrote:\n")[2] for request in model.requests]
    assert shown[0] == shown[3] == "Nothing has been played before."
    assert shown[2] == "Go(to='b'): \"Thought: on\""


def test_what_was_said_is_a_talk_whose_answers_are_valued() -> None:
    record = played(steps(AskStep("a"), AskStep("b", reads=("a",))), Free(door("middle")))
    (talk,) = settle([record], game=doors())
    assert talk.players == ("a", "b")
    assert talk.tags["process"] == [0.5, 0.5]


def test_a_move_that_is_not_legal_is_refused_and_the_answer_says_so() -> None:
    texts = iter([door("nowhere"), door("right")])
    model = Free(lambda _: next(texts))
    record = played(steps(AskStep("a"), VoteStep("v", ("a",))), model)
    assert record.returns == (1.0,)
    assert "Your last answer was refused" in last(model.requests[1])


def test_random_changes_are_workflows_and_differ() -> None:
    rng = palestra.Rng.seeded(5)
    seen: set[str] = set()
    now = known_workflows()[0]
    for _ in range(200):
        changed = mutate(now, rng)
        assert check_workflow(changed).key != now.key
        check_workflow(cross(changed, known_workflows()[rng.below(5)], rng))
        seen.update(type(step).__name__ for step in changed.steps)
        now = changed if len(changed.steps) < 10 else known_workflows()[rng.below(5)]
    assert seen >= {"AskStep", "VoteStep", "ReflectStep", "ToolStep", "RecallStep"}


def test_what_read_a_removed_step_reads_what_it_read() -> None:
    made = steps(AskStep("a"), AskStep("b", reads=("a",)), VoteStep("v", ("b",)))
    assert without(made, "b").steps[1] == VoteStep("v", ("a",))


def test_a_file_that_names_its_model_is_an_agent(tmp_path: Path) -> None:
    file = tmp_path / "it.json"
    write_workflow(file, Workflow((AskStep("a"),), model="echo:Action: Go(to='right')"))
    assert palestra.play(doors(), agents=[f"workflow:{file}"])[0].returns == (1.0,)
    assert set(DOORS["start"]) == {"left", "middle", "right"}
