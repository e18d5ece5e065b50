"""Symbolic learning: a loss, gradients and updates, all in words, from the last step to the first.

Zhou et al., "Symbolic Learning Enables Self-Evolving Agents", 2024. An episode is played forwards.
A model states the loss of its outcome. The gradient of each step, what it should have done
otherwise, is derived from that of the step after it, from the last to the first. Then every
prompt is rewritten by its gradients, and the pipeline by all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from palestra import InvalidOption, Meta
from palestra.quoting import quote

from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant, WorkflowEpisode
from palestra_adapters.optimisers.wording import FORM, LANGUAGE, as_text
from palestra_adapters.workflows.steps import (
    AskStep,
    DebateStep,
    ReflectStep,
    Step,
    Workflow,
    step_calls,
)

LOSS = (
    "An agent played this episode:\n{story}\n\nState the loss: how far is the result from the best "
    "possible one, and which decisions cost it? Two or three sentences."
)
GRADIENT = (
    "An agent plays by steps. Step {name!r} has this instruction:\n{prompt}\n\nWhat it said in the "
    "episode:\n{said}\n\n{after}\n\nWhat should this step have said otherwise, and what in its "
    "instruction has to change for that? Two or three sentences."
)
UPDATE = (
    "Step {name!r} of an agent has this instruction:\n{prompt}\n\nWhat has to change, from several "
    "episodes:\n{gradients}\n\nWrite the new instruction between <START> and <END>. Keep what "
    "works, and write nothing that holds for one episode only."
)
PIPELINE = (
    "An agent plays this game by a workflow:\n{workflow}\n\nWhat has to change in its steps:\n"
    "{gradients}\n\nIf a step is missing, needless or in the wrong place, change the workflow; "
    "keep the prompts as they are where they serve.\n{form}"
)


class SymbolicLearning(Search):
    """`steps` rounds of loss, gradients, updates of prompts and, with `pipeline`, of the workflow.

    Every round learns from the `batch` episodes of the lowest returns. A changed workflow that
    does worse than the one it was made from is rolled back, as in the paper's trial-and-error.
    """

    name = "symbolic"
    paper = "Symbolic Learning Enables Self-Evolving Agents (2024)"

    def __init__(
        self,
        *,
        steps: Annotated[int, Meta(ge=1, description="rounds of learning")] = 5,
        batch: Annotated[int, Meta(ge=1, description="episodes a round")] = 2,
        pipeline: Annotated[bool, Meta(description="also change which steps there are")] = True,
    ) -> None:
        self._steps, self._batch, self._pipeline = steps, batch, pipeline

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        best = studio.add(start)
        yield from studio.play(best)
        for _ in range(self._steps):
            worst = sorted(best.played, key=lambda one: one.returns)[: self._batch]
            gradients = yield from self._backwards(studio, best, worst)
            best = yield from self._update(studio, best, gradients)
            if self._pipeline:
                best = yield from self._rebuild(studio, best, gradients)

    def _backwards(
        self, studio: Studio, variant: Variant, episodes: Sequence[WorkflowEpisode]
    ) -> Searching[dict[str, list[str]]]:
        """The gradients of every step that asks a model, one per episode."""
        found: dict[str, list[str]] = {}
        for episode in episodes:
            told = yield from studio.ask(LOSS.format(story=episode.story))
            after = f"The loss of the episode:\n{quote(told.text)}"
            for step in reversed([s for s in variant.workflow.steps if step_calls(s)]):
                text = GRADIENT.format(
                    name=step.name, prompt=prompt_of(step), said=_said(episode, step), after=after
                )
                told = yield from studio.ask(text)
                found.setdefault(step.name, []).append(told.text)
                after = (
                    f"What the step after it, {step.name!r}, should have done:\n{quote(told.text)}"
                )
        return found

    def _update(
        self, studio: Studio, best: Variant, gradients: Mapping[str, Sequence[str]]
    ) -> Searching[Variant]:
        steps: list[Step] = []
        for step in best.workflow.steps:
            if step.name in gradients:
                told = yield from studio.ask(
                    UPDATE.format(
                        name=step.name,
                        prompt=prompt_of(step),
                        gradients="\n".join(f"- {quote(line)}" for line in gradients[step.name]),
                    )
                )
                step = with_prompt(step, _between(told.text))
            steps.append(step)
        changed = msgspec.structs.replace(best.workflow, steps=tuple(steps))
        try:
            studio.refuse_known(changed)
            made = studio.add(changed, [best], "prompts updated")
        except InvalidOption:
            return best
        yield from studio.play(made)
        return made if made.mean >= best.mean else best

    def _rebuild(
        self, studio: Studio, best: Variant, gradients: Mapping[str, Sequence[str]]
    ) -> Searching[Variant]:
        lines = "\n".join(
            f"- {name}: {quote(t)}" for name, texts in gradients.items() for t in texts
        )
        text = PIPELINE.format(workflow=as_text(best.workflow), gradients=lines, form=FORM)
        made = yield from studio.propose(text, [best], "pipeline updated", system=LANGUAGE)
        if made is None:
            return best
        yield from studio.play(made)
        return made if made.mean >= best.mean else best


def prompt_of(step: Step) -> str:
    """The instruction of a step that asks a model."""
    if isinstance(step, AskStep | DebateStep):
        return step.prompt or "(empty)"
    return step.revise if isinstance(step, ReflectStep) else ""


def with_prompt(step: Step, prompt: str) -> Step:
    """The step with another instruction; unchanged for an empty one."""
    if not prompt:
        return step
    if isinstance(step, AskStep | DebateStep):
        return msgspec.structs.replace(step, prompt=prompt)
    return msgspec.structs.replace(step, revise=prompt) if isinstance(step, ReflectStep) else step


def _said(episode: WorkflowEpisode, step: Step) -> str:
    """What a step has said at every decision of an episode, with the move that was played."""
    lines = []
    for number, choice in enumerate(episode.choices):
        texts = [text for name, text in choice.said if name == step.name]
        lines += [f"Decision {number + 1}: {quote(text)} (played: {choice.move})" for text in texts]
    return "\n".join(lines) or "nothing"


def _between(text: str) -> str:
    return text.partition("<START>")[2].partition("<END>")[0].strip()
