"""Trace: an execution trace and feedback go to an optimiser, which changes named parameters.

Cheng, Nie and Swaminathan, "Trace is the Next AutoDiff: Generative Optimization with Rich Feedback,
Execution Traces, and LLMs", 2024 (OptoPrime). The problem is shown as code, the values that were
computed, the parameters that may be changed and their constraints, and the feedback on the output.
Only the part of the graph from which the output was computed is shown. A memory holds the last
changes with their feedback.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from palestra import InvalidOption, Meta
from palestra.quoting import quote

from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant, WorkflowEpisode
from palestra_adapters.optimisers.wording import stated_json
from palestra_adapters.workflows.steps import Step, Workflow, check_workflow, reads_of

TRAINABLE = (
    "prompt",
    "role",
    "critic",
    "revise",
    "samples",
    "rounds",
    "playouts",
    "shown",
    "temperature",
)
PROBLEM = """\
You optimise a program that plays this game. Change the values of #Variables so that #Feedback gets
better.

#Code
{code}

#Variables
{variables}

#Constraints
samples: 1 to 9; rounds: 1 to 5; playouts: 1 to 64; shown: 1 to 20; temperature: 0 to 2; all others
are texts.

#Values of one episode
{values}

#Feedback
{feedback}

#Earlier changes, oldest first
{memory}

Write one JSON object and nothing after it: {{"reasoning": "what the feedback says about the
variables", "suggestion": {{"name": new value, …}}}}. Leave out variables that stay as they are."""


class Suggestion(msgspec.Struct, frozen=True):
    """What the optimiser writes."""

    suggestion: dict[str, str | int | float]
    reasoning: str = ""


class Trace(Search):
    """`updates` changes of parameters, each from the trace of the episode with the lowest return.

    memory: how many earlier changes are shown. A change that does worse is kept in the memory, and
    the next one starts from the best parameters so far unless `greedy` is false.
    """

    name = "trace"
    paper = "Trace is the Next AutoDiff (2024)"

    def __init__(
        self,
        *,
        updates: Annotated[int, Meta(ge=1, description="changes of parameters")] = 10,
        memory: Annotated[int, Meta(ge=0, description="earlier changes shown")] = 5,
        greedy: Annotated[bool, Meta(description="start from the best so far")] = True,
    ) -> None:
        self._updates, self._greedy = updates, greedy
        self._memory: deque[str] = deque(maxlen=memory)

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        now = studio.add(start)
        yield from studio.play(now)
        for _ in range(self._updates):
            worst = min(now.played, key=lambda one: one.returns)
            told = yield from studio.ask(self._problem(now, worst))
            changed, note = changed_by(now.workflow, told.text)
            if changed is None:
                self._memory.append(f"refused: {note}")
                continue
            if studio.known(changed):
                self._memory.append(f"{note}: tried before")
                continue
            made = studio.add(changed, [now], "parameters changed", note, told.usage)
            yield from studio.play(made)
            self._memory.append(f"{note}: mean return {now.mean:.3f} became {made.mean:.3f}")
            now = studio.best if self._greedy else made

    def _problem(self, variant: Variant, episode: WorkflowEpisode) -> str:
        steps = upstream(variant.workflow)
        values = parameters(steps)
        return PROBLEM.format(
            code=_code(steps),
            variables="\n".join(
                f"{name} = {msgspec.json.encode(v).decode()}" for name, v in values.items()
            ),
            values=_values(episode, {step.name for step in steps}),
            feedback=f"{episode.story}\nMean over {variant.episodes} episodes: {variant.mean:.3f}",
            memory="\n".join(self._memory) or "none",
        )


def upstream(workflow: Workflow) -> list[Step]:
    """The steps from which the last one is computed, itself included: the minimal subgraph."""
    needed = {workflow.steps[-1].name}
    for step in reversed(workflow.steps):
        if step.name in needed:
            needed.update(reads_of(step))
    return [step for step in workflow.steps if step.name in needed]


def parameters(steps: Sequence[Step]) -> dict[str, Any]:
    """Parameters that may be changed, as `step.field`."""
    return {
        f"{step.name}.{field}": getattr(step, field)
        for step in steps
        for field in TRAINABLE
        if field in step.__struct_fields__
    }


def changed_by(workflow: Workflow, text: str) -> tuple[Workflow | None, str]:
    """The workflow with a reply's suggestion and the change in words, or None and what is wrong."""
    try:
        read = msgspec.json.decode(stated_json(text), type=Suggestion)
        known = parameters(upstream(workflow))
        unknown = sorted(set(read.suggestion) - set(known))
        if unknown:
            return None, f"{unknown[0]} is no variable"
        steps = []
        for step in workflow.steps:
            own = {
                name.partition(".")[2]: value
                for name, value in read.suggestion.items()
                if name.partition(".")[0] == step.name
            }
            steps.append(msgspec.structs.replace(step, **own))
        note = ", ".join(f"{k} = {v!r}" for k, v in read.suggestion.items()) or "no change"
        return check_workflow(msgspec.structs.replace(workflow, steps=tuple(steps))), note
    except (InvalidOption, msgspec.MsgspecError) as error:
        return None, str(error)


def _code(steps: Sequence[Step]) -> str:
    """The graph as assignments, one step a line."""
    calls = []
    for step in steps:
        kind = type(step).__name__.removesuffix("Step").lower()
        own = [f"{field}={step.name}.{field}" for field in TRAINABLE if hasattr(step, field)]
        calls.append(f"{step.name} = {kind}({', '.join([*reads_of(step), *own])})")
    return "\n".join([*calls, f"move = last_move({steps[-1].name})"])


def _values(episode: WorkflowEpisode, names: set[str]) -> str:
    lines = []
    for number, choice in enumerate(episode.choices):
        lines += [f"decision {number + 1}: {n} = {quote(t)}" for n, t in choice.said if n in names]
        lines.append(f"decision {number + 1}: move = {choice.move}")
    return "\n".join(lines)
