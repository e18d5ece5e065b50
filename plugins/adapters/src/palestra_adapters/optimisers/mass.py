"""MASS: prompts of single blocks, then how blocks are joined, then prompts of the whole.

Zhou et al., "Multi-Agent Design: Optimizing Agents with Better Prompts and Topologies", 2025. What
a block adds to one predictor, with prompts written for both, is its influence; workflows are drawn
with blocks in proportion to it, so that few of those that can be made are tried. Blocks are joined
in one order: summaries, a tool, several answers with a vote, a critique, a debate. A summary takes
the place of the episode so far in what the predictor reads. With `sizes` a drawn block has a number
that is drawn too, evenly from the paper's: 1 to 4 summaries, each of which improves the one before;
3, 5, 7 or 9 answers; 1 to 4 critiques; 1 to 4 rounds of debate after the first answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp
from typing import Annotated

import msgspec
from palestra import InvalidOption, Meta, Rng, UnknownName

from palestra_adapters.optimisers.agents_of_change import between
from palestra_adapters.optimisers.evo_agent_x import replace_step
from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant
from palestra_adapters.optimisers.symbolic import prompt_of, with_prompt
from palestra_adapters.workflows.steps import (
    AskStep,
    DebateStep,
    ReflectStep,
    Step,
    ToolStep,
    VoteStep,
    Workflow,
    step_calls,
)

ROLES = ("You look for the move that gains most.", "You look for what can go wrong.")
SUMMARISE = (
    "Summarise what has happened in this episode: all that matters for the next move, and nothing "
    "else. If there is a summary already, improve it."
)
BLOCKS: dict[str, Step | None] = {  # with a step of their own that asks a model, if any
    "summary": AskStep("summary", SUMMARISE, answers=False),
    "tool": None,
    "aggregate": None,
    "reflect": ReflectStep("reflect"),
    "debate": DebateStep("debate", ROLES),
}
SAMPLES, HEAT = 3, 0.8  # of answers that are aggregated
SIZES = {"summary": (1, 2, 3, 4), "aggregate": (3, 5, 7, 9), "reflect": (1, 2, 3, 4)}
SIZES["debate"] = (2, 3, 4, 5)  # the first answers are a round too
LEAST = 0.1  # worth of a predictor below which no ratio to it is taken
REWRITE = (
    "An agent plays this game by a workflow:\n{workflow}\n\nIts step {name!r} has this prompt:\n"
    "{prompt}\n\nThe episodes for which it was paid least:\n{episodes}\n\nWrite a better prompt "
    "for this step between <START> and <END>."
)


class Mass(Search):
    """Writes `prompts` for each block, tries `topologies` of them, and writes prompts for the best.

    A block is part of a drawn workflow with the probability softmax(influence / heat) over all
    blocks, where its influence is the worth of a predictor with it over that of the predictor. A
    workflow that asks for more than `calls` answers a decision is not tried.
    """

    name = "mass"
    paper = "Multi-Agent Design: Optimizing Agents with Better Prompts and Topologies (2025)"

    def __init__(
        self,
        *,
        prompts: Annotated[int, Meta(ge=0, description="prompts written for a step")] = 2,
        topologies: Annotated[int, Meta(ge=0, description="joined workflows that are tried")] = 6,
        heat: Annotated[float, Meta(gt=0, description="how evenly blocks are drawn")] = 0.5,
        calls: Annotated[int, Meta(ge=1, description="most answers of a decision")] = 10,
        shown: Annotated[int, Meta(ge=1, description="episodes that the model reads")] = 2,
        blocks: Annotated[
            str, Meta(description="summary, tool, aggregate, reflect, debate, joined by +")
        ] = "tool+aggregate+reflect+debate",
        sizes: Annotated[
            bool, Meta(description="whether numbers of answers and rounds are drawn")
        ] = False,
    ) -> None:
        named = blocks.split("+")
        for name in named:
            if name not in BLOCKS:
                raise UnknownName("block", name, BLOCKS)
        self._blocks = {name: step for name, step in BLOCKS.items() if name in named}
        self._sizes = sizes
        self._prompts, self._topologies = prompts, topologies
        self._heat, self._calls, self._shown = heat, calls, shown

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        asks = [s for s in start.steps if isinstance(s, AskStep) and s.answers]
        if not asks:
            raise InvalidOption("mass begins with a step that asks for a move, and there is none")
        alone = yield from self._played(studio, joined(asks[0], {}), "predictor")
        alone = yield from self._rewritten(studio, alone, asks[0].name)
        predictor = alone.workflow.steps[0]
        assert isinstance(predictor, AskStep)
        influence, best = {}, dict[str, Step | None]()
        for block, step in self._blocks.items():
            one = yield from self._played(studio, joined(predictor, {block: step}), block)
            if step is not None:
                one = yield from self._rewritten(studio, one, step.name)
                step = one.workflow.step(step.name)
            best[block] = step
            influence[block] = studio.worth(one) / max(LEAST, studio.worth(alone))
        yield from self._join(studio, predictor, best, shares(influence, self._heat))
        for step in [s for s in studio.best.workflow.steps if step_calls(s)]:
            yield from self._rewritten(studio, studio.best, step.name)

    def _played(self, studio: Studio, workflow: Workflow, how: str) -> Searching[Variant]:
        """The variant of a workflow; one that was tried before is not played again."""
        if (known := studio.known(workflow)) is not None:
            return known
        made = studio.add(workflow, how=how)
        yield from studio.play(made)
        return made

    def _rewritten(self, studio: Studio, variant: Variant, name: str) -> Searching[Variant]:
        """The best of a variant and of those with another prompt for one of its steps."""
        best = variant
        for _ in range(self._prompts):
            step = best.workflow.step(name)
            worst = sorted(best.played, key=lambda one: one.returns)[: self._shown]
            episodes = "\n\n".join(f"Paid {one.returns:g}:\n{one.story}" for one in worst)
            told = yield from studio.ask(
                REWRITE.format(
                    workflow=studio.shown(best),
                    name=name,
                    prompt=prompt_of(step),
                    episodes=episodes or "none",
                ),
                heat=HEAT,
            )
            new = with_prompt(step, between(told.text)[:4000])
            made = yield from self._played(studio, replace_step(best.workflow, step, new), "prompt")
            best = max(best, made, key=lambda one: one.mean)
        return best

    def _join(
        self,
        studio: Studio,
        predictor: AskStep,
        blocks: Mapping[str, Step | None],
        chances: Mapping[str, float],
    ) -> Searching[None]:
        tried = 0
        for _ in range(100 * self._topologies):  # few of a small number may be new
            drawn = {b: step for b, step in blocks.items() if studio.rng.random() < chances[b]}
            sizes = draw_sizes(drawn, studio.rng) if self._sizes else {}
            workflow = joined(predictor, drawn, sizes)
            if studio.known(workflow) is None and workflow.calls <= self._calls:
                yield from self._played(studio, workflow, "+".join(drawn))
                tried += 1
            if tried == self._topologies:
                return


def shares(influence: Mapping[str, float], heat: float) -> dict[str, float]:
    """softmax(influence / heat) over the blocks."""
    high = max(influence.values())
    powers = {block: exp((value - high) / heat) for block, value in influence.items()}
    return {block: power / sum(powers.values()) for block, power in powers.items()}


def draw_sizes(blocks: Iterable[str], rng: Rng) -> dict[str, int]:
    """A number for each of the blocks that have one, each as likely as the others of `SIZES`."""
    return {name: rng.choice(SIZES[name]) for name in blocks if name in SIZES}


def joined(
    predictor: AskStep, blocks: Mapping[str, Step | None], sizes: Mapping[str, int] | None = None
) -> Workflow:
    """A predictor with some blocks, in the order of `BLOCKS`.

    sizes: of a block, its number of summaries, of answers or of rounds; by default one summary,
    three answers, and as many rounds as its step has.
    """
    sizes = sizes or {}
    steps: list[Step] = []
    ask = predictor
    if (summary := blocks.get("summary")) is not None:
        for number in range(sizes.get("summary", 1)):
            name = f"{summary.name}-{number + 1}" if number else summary.name
            before = (steps[-1].name,) if number else ()
            steps.append(msgspec.structs.replace(summary, name=name, reads=before))
        ask = msgspec.structs.replace(ask, reads=(steps[-1].name,), transcript=False)
    if "tool" in blocks:
        steps.append(ToolStep("look"))
        ask = msgspec.structs.replace(ask, reads=(*ask.reads, "look"))
    if "aggregate" in blocks:
        samples = sizes.get("aggregate", SAMPLES)
        ask = msgspec.structs.replace(ask, samples=samples, temperature=HEAT)
    steps.append(ask)
    if "aggregate" in blocks:
        steps.append(VoteStep("vote", (ask.name,)))
    for block in ("reflect", "debate"):
        if (step := blocks.get(block)) is not None:
            own = {"rounds": sizes[block]} if block in sizes else {}
            steps.append(msgspec.structs.replace(step, reads=(steps[-1].name,), **own))
    return Workflow(tuple(steps), "+".join(["one answer", *blocks]))
