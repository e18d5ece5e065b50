"""EvoAgentX: prompts, examples and the workflow itself evolve in turns.

Wang et al., "EvoAgentX: An Automated Framework for Evolving Agentic Workflows", 2025, which puts
three optimisers behind one interface: TextGrad rewrites a prompt by criticism of what it led to;
AFlow changes the workflow, from a parent that is drawn by score and with the record of earlier
changes; MIPRO chooses an instruction and worked examples together. Here each round is one of them,
in this order; all fill one archive, and the best variant so far is where TextGrad and MIPRO begin.

With a goal the first workflow is written from it, as there: a planner splits the goal into
sub-tasks with what each reads, and an agent is written for every sub-task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp
from typing import Annotated

import msgspec
from palestra import InvalidOption, Meta, UnknownName

from palestra_adapters.optimisers.agents_of_change import between
from palestra_adapters.optimisers.search import (
    Search,
    Searching,
    Studio,
    Variant,
)
from palestra_adapters.optimisers.symbolic import prompt_of, with_prompt
from palestra_adapters.optimisers.wording import FORM, LANGUAGE, bullets, stated_json
from palestra_adapters.workflows.steps import (
    AskStep,
    Name,
    Prompt,
    Step,
    Workflow,
    check_workflow,
    step_calls,
)

PLAN = (
    "The goal of an agent that plays this game: {goal}\n\nSplit what it does for one move into "
    "sub-tasks, of which each is given to one agent. They are done in order, and the last of them "
    "decides on the move. Every agent is shown the rules, what the player has seen of the episode, "
    "the legal moves, and what the earlier sub-tasks in its reads have found. A name has "
    "lower-case letters, digits and hyphens. At most 12 sub-tasks.\n\nWrite one JSON object: "
    '{{"tasks": [{{"name": "…", "does": "what it is to find", "reads": ["names", …]}}, …]}}. Write '
    "nothing after it."
)
AGENT = (
    "The goal of an agent that plays this game: {goal}\n\nIts plan for one move:\n{plan}\n\nWrite "
    "the prompt of the agent that does the sub-task {name!r}, between <START> and <END>."
)
CRITICISE = (
    "The step {name!r} of an agent has this prompt:\n{prompt}\n\nIt led to these episodes:\n"
    "{episodes}\n\nCriticise the prompt: what in it led to the losses? Do not rewrite it."
)
REWRITE = (
    "The step {name!r} of an agent has this prompt:\n{prompt}\n\nCriticism of it:\n{critique}\n\n"
    "Write the prompt anew, so that the criticism no longer holds, between <START> and <END>."
)
CHANGE = (
    "An agent plays this game by a workflow:\n{parent}\n\nChanges of it that were tried:\n"
    "{experience}\n\nChange one thing that has not been tried: add, remove or rewire a step.\n"
    "{form}"
)
INSTRUCT = (
    "Write an instruction for a language model that plays this game. Decisions from its best "
    "episodes:\n{examples}\n\nInstructions so far, with their mean returns:\n{known}\n\nWrite a "
    "better one between <START> and <END>, without examples."
)
Change = Callable[[Studio, Variant], Searching[tuple[Workflow, str]]]
ROUNDS = ("textgrad", "aflow", "mipro")


class SubTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a plan: what an agent is to find, and whose findings it reads."""

    name: Name
    does: Prompt
    reads: tuple[Name, ...] = ()


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sub-tasks of a goal in their order, as the model writes them."""

    tasks: tuple[SubTask, ...]


class EvoAgentX(Search):
    """`rounds` in turns over the `optimisers`, joined by `+`.

    With a `goal` in words the search also begins with a workflow that is written from it.

    AFlow's parent is drawn with probability mix / n + (1 - mix) * softmax(heat * score), where the
    scores are scaled to [0, 1]. MIPRO adds up to `examples` decisions of the best episodes.
    """

    name = "evo-agent-x"
    paper = "EvoAgentX: An Automated Framework for Evolving Agentic Workflows (2025)"

    def __init__(
        self,
        *,
        rounds: Annotated[int, Meta(ge=1, description="changes at most")] = 12,
        optimisers: Annotated[
            str, Meta(description="which take turns: textgrad, aflow, mipro, joined by +")
        ] = "textgrad+aflow+mipro",
        shown: Annotated[int, Meta(ge=1, description="episodes that the model reads")] = 2,
        examples: Annotated[int, Meta(ge=1, description="decisions shown as examples")] = 3,
        mix: Annotated[float, Meta(ge=0, le=1, description="share of even draws")] = 0.2,
        heat: Annotated[float, Meta(ge=0, description="how much scores count in draws")] = 5.0,
        goal: Annotated[
            str, Meta(description="from which the first workflow is written; empty for none")
        ] = "",
    ) -> None:
        self._goal = goal
        self._order = optimisers.split("+")
        for name in self._order:
            if name not in ROUNDS:
                raise UnknownName("optimiser", name, ROUNDS)
        self._rounds, self._shown, self._examples = rounds, shown, examples
        self._mix, self._heat = mix, heat

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        yield from studio.play(studio.add(start))
        if self._goal:
            yield from self._from_goal(studio)
        for number in range(self._rounds):
            kind = self._order[number % len(self._order)]
            if kind == "aflow":
                made = yield from self._aflow(studio)
            else:
                change = self._textgrad if kind == "textgrad" else self._mipro
                made = yield from self._added(studio, studio.best, kind, change)
            if made is not None:
                yield from studio.play(made)

    def _from_goal(self, studio: Studio) -> Searching[None]:
        """Play the workflow of a plan for the goal; none if no plan can be read."""
        prompt = PLAN.format(goal=self._goal)
        told = yield from studio.ask(prompt)
        workflow, spent = yield from studio.stated(told, prompt, read_plan)
        if workflow is None:
            return
        plan = bullets([f"{step.name}: {prompt_of(step)}" for step in workflow.steps])
        for step in workflow.steps:
            asked = AGENT.format(goal=self._goal, plan=plan, name=step.name)
            told = yield from studio.ask(asked)
            spent += told.usage
            new = with_prompt(step, between(told.text)[:4000])
            workflow = replace_step(workflow, step, new)
        if studio.known(workflow) is None:
            yield from studio.play(studio.add(workflow, (), "goal", self._goal, spent))

    def _added(
        self, studio: Studio, parent: Variant, kind: str, change: Change
    ) -> Searching[Variant | None]:
        """A changed workflow as a variant; None if it is not new."""
        changed, note = yield from change(studio, parent)
        try:
            studio.refuse_known(changed)
            return studio.add(changed, [parent], kind, note)
        except InvalidOption:
            return None

    def _textgrad(self, studio: Studio, best: Variant) -> Searching[tuple[Workflow, str]]:
        """Criticise and rewrite the prompt of one step, drawn at random."""
        step = studio.rng.choice([step for step in best.workflow.steps if step_calls(step)])
        worst = sorted(best.played, key=lambda one: one.returns)[: self._shown]
        episodes = "\n\n".join(f"Paid {one.returns:g}:\n{one.story}" for one in worst)
        facts = {"name": step.name, "prompt": prompt_of(step)}
        critique = (yield from studio.ask(CRITICISE.format(episodes=episodes, **facts))).text
        told = yield from studio.ask(REWRITE.format(critique=critique, **facts), heat=0.8)
        new = with_prompt(step, between(told.text))
        return replace_step(best.workflow, step, new), " ".join(critique.split())[:200]

    def _mipro(self, studio: Studio, best: Variant) -> Searching[tuple[Workflow, str]]:
        """A new instruction for the first asking step, with examples from the best episodes."""
        step = next(step for step in best.workflow.steps if step_calls(step))
        examples = decisions(studio.archive, self._examples)
        known = "\n".join(
            f"{one.mean:.3f}: {prompt_of(one.workflow.steps[0])}"
            for one in sorted(studio.archive, key=lambda v: -v.mean)[:5]
        )
        asked = INSTRUCT.format(examples="\n".join(examples) or "none", known=known)
        told = yield from studio.ask(asked, heat=0.8)
        lines = [between(told.text)]
        if examples and studio.rng.random() < 0.5:
            lines += ["Decisions from good episodes:", *examples]
        prompt = "\n".join(filter(None, lines))[:4000]
        return replace_step(
            best.workflow, step, with_prompt(step, prompt)
        ), "instruction and examples"

    def _aflow(self, studio: Studio) -> Searching[Variant | None]:
        """A change of the workflow of a parent that is drawn by its score."""
        scores = [studio.worth(variant) for variant in studio.archive]
        place = studio.rng.weighted(mix_chances(scores, self._mix, self._heat))
        parent = studio.archive[place]
        children = [one for one in studio.archive if parent.number in one.parents]
        experience = "\n".join(
            f"{one.how} ({one.note}): {parent.mean:.3f} became {one.mean:.3f}" for one in children
        )
        text = CHANGE.format(
            parent=studio.shown(parent), experience=experience or "none", form=FORM
        )
        return (yield from studio.propose(text, [parent], "aflow", system=LANGUAGE))


def read_plan(text: str) -> Workflow:
    """One asking step for each sub-task, of which the last answers with the move.

    Raises `InvalidOption` that says what is wrong.
    """
    try:
        tasks = msgspec.json.decode(stated_json(text), type=Plan).tasks
    except msgspec.MsgspecError as error:
        raise InvalidOption(f"not a plan: {error}") from error
    last = len(tasks) - 1
    steps = [
        AskStep(task.name, task.does, reads=task.reads, answers=place == last)
        for place, task in enumerate(tasks)
    ]
    return check_workflow(Workflow(tuple(steps), "from a goal"))


def mix_chances(scores: Sequence[float], mix: float, heat: float) -> list[float]:
    """mix / n + (1 - mix) * softmax(heat * score), for each of n scores."""
    high = max(scores)
    powers = [exp(heat * (score - high)) for score in scores]
    return [mix / len(scores) + (1 - mix) * power / sum(powers) for power in powers]


def decisions(archive: Sequence[Variant], count: int) -> list[str]:
    """Decisions of the best-paid episodes: what was said, and the move."""
    episodes = sorted((one for v in archive for one in v.played), key=lambda one: -one.returns)
    lines = [
        f"{'; '.join(text for _, text in choice.said)[:300]} -> {choice.move}"
        for episode in episodes[:count]
        for choice in episode.choices
    ]
    return list(dict.fromkeys(lines))[:count]


def replace_step(workflow: Workflow, old: Step, new: Step) -> Workflow:
    """The workflow with one step changed."""
    steps = tuple(new if step is old else step for step in workflow.steps)
    return msgspec.structs.replace(workflow, steps=steps)
