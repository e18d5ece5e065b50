"""MARS: plans, Socratic questions that a critic lets pass, and what each role reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from adapter_worlds import last
from optimiser_worlds import SIDES, doors, optimise, prompted, shuffled
from palestra import InvalidOption
from palestra.agents.models import Request
from palestra_adapters.optimisers.mars import Mars
from palestra_adapters.workflows.steps import AskStep, VoteStep, Workflow

TELLS, ASKS = "Write that {part} counts.", "What have you not said of {part}?"


def obeys(request: Request) -> str:
    """Takes the middle door if its prompt has one part, the right one if it has both in order."""
    text = "\n".join(message.content for message in request.messages)
    door = "middle" if "size" in text else "left"
    door = "right" if re.search(r"size.*sign", text) else door
    return f"Thought: so.\nAction: Go(to='{door}')"


def role(request: Request) -> str:
    text = last(request)
    signs = {"planner": "You plan how", "teacher": "You teach", "critic": "You judge a teacher"}
    return next((name for name, sign in signs.items() if sign in text), "student")


def step_of(text: str) -> str:
    return re.findall(r'is on: "the (\w+)"', text)[0]


def prompt_in(text: str) -> str:
    return re.findall(r'The prompt is now:\n"(.*)"\n', text)[0].replace("(empty)", "")


def school(
    asked: list[Request], plan: str = "1. the size\n2. the sign"
) -> Callable[[Request], str]:
    """The teacher gives answers away until it is refused; a told student learns nothing."""

    def reply(request: Request) -> str:
        asked.append(request)
        text = last(request)
        match role(request):
            case "planner":
                return plan
            case "teacher":
                form = ASKS if "The critic says" in text else TELLS
                return form.format(part=step_of(text))
            case "critic":
                return "Bad: it tells." if "Write that" in text else "good"
        found = re.findall(r"not said of (\w+)", text)
        own = f"{prompt_in(text)} {found[0] if found else 'well'}".strip()
        return f"<START>{own}<END>"

    return reply


@pytest.mark.parametrize(("questions", "mean"), [(1, 0.0), (2, 1.0), (3, 1.0)])
def test_a_critic_who_refuses_what_tells_makes_the_student_learn(
    tmp_path: Path, questions: int, mean: float
) -> None:
    asked: list[Request] = []
    search = Mars(rounds=1, questions=questions)
    _, run = optimise(search, tmp_path, env=doors(), player=obeys, proposer=school(asked))
    assert run.studio.best.mean == mean
    a_step = {1: ["teacher"], 2: ["teacher", "critic", "teacher"]}
    each = [*a_step.get(questions, [*a_step[2], "critic"]), "student"]
    assert [role(request) for request in asked] == ["planner", *each * 2]
    if mean:
        assert [one.mean for one in run.studio.archive] == [0.0, 0.5, 1.0]
        assert [one.parents for one in run.studio.archive] == [(), (0,), (1,)]


def test_roles_read_the_prompt_its_worth_and_what_changed(tmp_path: Path) -> None:
    asked: list[Request] = []
    optimise(
        Mars(rounds=1, questions=2), tmp_path, env=doors(), player=obeys, proposer=school(asked)
    )
    texts = [(role(request), last(request)) for request in asked]
    plan, ask, judge, again, answer = (text for _, text in texts[:5])
    assert "mean return is 0.000" in plan
    assert "The last step changed" not in plan
    assert "Paid 0:" in plan
    assert 'on: "the size"' in ask
    assert "The critic says" not in ask
    assert "The prompt is now" not in judge
    assert '"Write that size counts."' in judge
    assert 'You asked:\n"Write that size counts."\nThe critic says: "it tells."' in again
    assert 'asks: "What have you not said of size?"' in answer
    assert "the size" not in answer  # the student reads the questions, not the plan
    second = texts[5][1]
    assert 'The prompt is now:\n"size"' in second
    assert "mean return is 0.500" in second
    assert "The last step changed it by +0.500" in second


def test_a_round_begins_from_the_best_prompt_and_a_step_from_the_one_before(
    tmp_path: Path,
) -> None:
    """The first plan's last step spoils the prompt; the second plan reads the best one."""
    asked: list[Request] = []

    def proposer(request: Request) -> str:
        asked.append(request)
        text = last(request)
        if role(request) == "planner":
            return "1. the size\n2. the loss" if prompt_in(text) == "" else "1. the sign"
        if role(request) == "teacher":
            return ASKS.format(part=step_of(text))
        if role(request) == "critic":
            return "Good."
        part = re.findall(r"not said of (\w+)", text)[0]
        kept = "" if part == "loss" else prompt_in(text)
        return f"<START>{kept} {part}<END>"

    _, run = optimise(Mars(rounds=2), tmp_path, env=doors(), player=obeys, proposer=proposer)
    assert [one.mean for one in run.studio.archive] == [0.0, 0.5, 0.0, 1.0]
    assert [one.parents for one in run.studio.archive] == [(), (0,), (1,), (1,)]
    planners = [last(request) for request in asked if role(request) == "planner"]
    assert [prompt_in(text) for text in planners] == ["", "size"]


@pytest.mark.parametrize("seed", range(6))
def test_what_it_finds_is_never_worse_than_the_start(tmp_path: Path, seed: int) -> None:
    """Prompts name a door, which pays 0, 1/2 or 1 by the seed."""
    rounds = iter(SIDES[(seed + n) % 3] for n in range(100))

    def proposer(request: Request) -> str:
        text = {"planner": "1. the door\n2. the door\n3. the door", "critic": "good"}
        return text.get(role(request), f"<START>{next(rounds)}<END>")

    def player(request: Request) -> str:
        text = "\n".join(message.content for message in request.messages)
        named = [side for side in SIDES if f"Take {side}" in text or f"\n{side}\n" in f"\n{text}\n"]
        return f"Thought: so.\nAction: Go(to='{(named or ['left'])[0]}')"

    _, run = optimise(
        Mars(rounds=2), tmp_path, env=shuffled(), player=player, proposer=proposer, seed=seed
    )
    archive = run.studio.archive
    assert 2 <= len(archive) <= 4  # three prompts at most, each once
    assert run.studio.best.mean == max(one.mean for one in archive) >= archive[0].mean
    assert len({one.workflow.key for one in archive}) == len(archive)


def test_no_plan_no_change_and_a_step_without_a_move_is_refused(tmp_path: Path) -> None:
    asked: list[Request] = []
    _, run = optimise(
        Mars(rounds=2), tmp_path / "a", env=doors(), player=obeys, proposer=school(asked, "None.")
    )
    assert len(run.studio.archive) == 1
    assert [role(request) for request in asked] == ["planner"] * 2
    start = Workflow(
        (AskStep("plan", answers=False), *prompted("Go.").steps, VoteStep("vote", ("answer",)))
    )
    with pytest.raises(InvalidOption, match=r"asks for no move; choose from \['answer'\]"):
        list(Mars(step="plan").run(None, start))  # type: ignore[arg-type]
