"""Random changes of workflows, without a model: what an evolutionary search draws from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from palestra import InvalidOption, Rng

from palestra_adapters.workflows.steps import (
    MOST,
    AskStep,
    DebateStep,
    RecallStep,
    ReflectStep,
    Step,
    ToolStep,
    VoteStep,
    Workflow,
    check_workflow,
    decides,
    reads_of,
)

TRIES = 50
Change = Callable[[Workflow, Rng], Workflow]


def mutate(workflow: Workflow, rng: Rng) -> Workflow:
    """The workflow with one random change; the same one if no change of `TRIES` fits."""
    for _ in range(TRIES):
        try:
            changed = check_workflow(rng.choice(CHANGES)(workflow, rng))
        except InvalidOption:
            continue
        if changed.key != workflow.key:
            return changed
    return workflow


def cross(first: Workflow, second: Workflow, rng: Rng) -> Workflow:
    """The beginning of one workflow and the end of another, renamed where names collide.

    Steps of the end that read what is cut off read the last answer of the beginning instead.
    """
    for _ in range(TRIES):
        head = first.steps[: 1 + rng.below(len(first.steps))]
        tail = second.steps[rng.below(len(second.steps)) :]
        try:
            return check_workflow(Workflow((*head, *_join_steps(head, tail))[:MOST], first.name))
        except InvalidOption:
            continue
    return first


def _join_steps(head: Sequence[Step], tail: Sequence[Step]) -> list[Step]:
    last = next((step.name for step in reversed(head) if decides(step)), head[-1].name)
    taken = {step.name for step in head}
    names: dict[str, str] = {}
    joined = []
    for step in tail:
        names[step.name] = fresh(step.name, taken)
        taken.add(names[step.name])
        reads = tuple(dict.fromkeys(names.get(name, last) for name in reads_of(step)))
        joined.append(rename_step(step, names[step.name], reads))
    return joined


def fresh(name: str, taken: set[str]) -> str:
    """A name that is not taken."""
    number, made = 2, name
    while made in taken:
        made, number = f"{name[:26]}-{number}", number + 1
    return made


def rename_step(step: Step, name: str, reads: tuple[str, ...]) -> Step:
    """A step under another name that reads other steps."""
    changed: dict[str, Any] = {"name": name}
    if not isinstance(step, ToolStep | RecallStep):
        changed["reads"] = reads
    return msgspec.structs.replace(step, **changed)


def _put(workflow: Workflow, place: int, *steps: Step) -> Workflow:
    kept = workflow.steps
    return msgspec.structs.replace(workflow, steps=(*kept[:place], *steps, *kept[place + 1 :]))


def _more_samples(workflow: Workflow, rng: Rng) -> Workflow:
    """Other numbers of samples or rounds at a random step."""
    place = rng.below(len(workflow.steps))
    step = workflow.steps[place]
    if isinstance(step, AskStep):
        return _put(workflow, place, msgspec.structs.replace(step, samples=1 + rng.below(5)))
    if isinstance(step, ReflectStep | DebateStep):
        return _put(workflow, place, msgspec.structs.replace(step, rounds=1 + rng.below(3)))
    if isinstance(step, ToolStep):
        return _put(workflow, place, msgspec.structs.replace(step, playouts=2 ** rng.below(6)))
    return workflow


def _vote_on_last(workflow: Workflow, rng: Rng) -> Workflow:
    last = workflow.steps[-1]
    vote = VoteStep(fresh("vote", {s.name for s in workflow.steps}), (last.name,))
    steps = workflow.steps
    if isinstance(last, AskStep) and last.samples == 1:
        steps = (*steps[:-1], msgspec.structs.replace(last, samples=3, temperature=0.8))
    return msgspec.structs.replace(workflow, steps=(*steps, vote))


def _reflect_on_last(workflow: Workflow, rng: Rng) -> Workflow:
    name = fresh("reflect", {step.name for step in workflow.steps})
    step = ReflectStep(name, (workflow.steps[-1].name,))
    return msgspec.structs.replace(workflow, steps=(*workflow.steps, step))


def _read_first(made: Step) -> Change:
    """Put a step first, which all steps that ask then read."""

    def change(workflow: Workflow, rng: Rng) -> Workflow:
        name = fresh(made.name, {step.name for step in workflow.steps})
        rest = [
            rename_step(step, step.name, (name, *reads_of(step)))
            if isinstance(step, AskStep | DebateStep)
            else step
            for step in workflow.steps
        ]
        return msgspec.structs.replace(workflow, steps=(rename_step(made, name, ()), *rest))

    return change


def without(workflow: Workflow, name: str) -> Workflow:
    """The workflow without a step; what read it reads what it read."""
    step = workflow.step(name)
    rest = []
    for other in workflow.steps:
        if other.name != name:
            reads = [r for n in reads_of(other) for r in (reads_of(step) if n == name else (n,))]
            rest.append(rename_step(other, other.name, tuple(dict.fromkeys(reads))))
    return msgspec.structs.replace(workflow, steps=tuple(rest))


def _drop(workflow: Workflow, rng: Rng) -> Workflow:
    return without(workflow, rng.choice(workflow.steps).name)


PLAN = AskStep("plan", "Write a plan in one or two sentences.", answers=False)
with_memory: Change = _read_first(RecallStep("memory"))
with_plan: Change = _read_first(PLAN)
with_lookahead: Change = _read_first(ToolStep("lookahead"))
with_outcomes: Change = _read_first(ToolStep("outcomes", "outcomes"))
CHANGES: tuple[Change, ...] = (
    _more_samples,
    _vote_on_last,
    _reflect_on_last,
    with_plan,
    with_memory,
    with_lookahead,
    with_outcomes,
    _drop,
)
