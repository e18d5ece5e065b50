"""AgentSwift: tree search over agent designs, guided by a value model and its uncertainty.

Li et al., "AgentSwift: Efficient LLM Agent Design via Value-guided Hierarchical Search", 2025. A
design is a workflow with components for memory, planning and tools. New designs come from
recombination of components, from mutation and from refinement; a value model predicts their
scores, and only the most promising one is played. The paper's value model is a tuned language
model; here it is a ridge regression on a design's features, refitted after every evaluation. The
abstract fixes no formula of the selection; this one is AFlow's mixture of a uniform and a soft
choice, over a score that counts the uncertainty in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption, Meta

from palestra_adapters.optimisers.mutations import (
    mutate,
    with_lookahead,
    with_memory,
    with_outcomes,
    with_plan,
    without,
)
from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant
from palestra_adapters.optimisers.wording import FORM, LANGUAGE, read_proposal
from palestra_adapters.search.tree import upwards
from palestra_adapters.workflows.steps import (
    AskStep,
    DebateStep,
    RecallStep,
    ReflectStep,
    ToolStep,
    VoteStep,
    Workflow,
    check_workflow,
)

MUTATE = (
    "You design agents for this game. Replace one part of this agent by a new one of your own, "
    "such as another way to plan, to remember, to check or to decide:\n\n{agent}\n{form}"
)
REFINE = (
    "You design agents for this game. This agent:\n\n{agent}\n\nplayed this episode badly:\n"
    "{story}\n\nKeep its parts, and correct prompts and numbers.\n{form}"
)
COMPONENTS = {
    "memory": (with_memory,),
    "planning": (with_plan,),
    "tool": (with_lookahead, with_outcomes),
}
KINDS = (AskStep, VoteStep, ReflectStep, DebateStep, ToolStep, RecallStep)


@dataclass(slots=True, eq=False)
class SwiftNode:
    """A design that was played; `uncertainty` is how far its prediction was off."""

    variant: Variant
    score: float
    uncertainty: float = 0.0
    visits: int = 1
    total: float = 0.0
    parent: SwiftNode | None = field(default=None)

    @property
    def mean(self) -> float:
        """Mean score of the node and of all that was made from it."""
        return self.total / self.visits


class ValueModel:
    """Ridge regression of scores on features of designs; the mean score with too few of them."""

    def __init__(self, penalty: float = 1.0) -> None:
        self._penalty = penalty
        self._weights: NDArray[np.float64] | None = None
        self._centre: NDArray[np.float64] = np.zeros(0)
        self._mean = 0.5

    def fit(self, designs: Sequence[Workflow], scores: Sequence[float]) -> None:
        """Weights w = (X'X + penalty I)^-1 X'y, with X and y centred."""
        x, y = np.array([features(one) for one in designs]), np.asarray(scores, float)
        self._centre, self._mean = x.mean(axis=0), float(y.mean())
        x = x - self._centre
        gram = x.T @ x + self._penalty * np.eye(x.shape[1])
        self._weights = np.linalg.solve(gram, x.T @ (y - self._mean))

    def predict(self, design: Workflow) -> float:
        """The predicted score, from 0 to 1."""
        if self._weights is None:
            return self._mean
        found = self._mean + float((np.array(features(design)) - self._centre) @ self._weights)
        return min(1.0, max(0.0, found))


def features(workflow: Workflow) -> list[float]:
    """Counts of the kinds of steps and tools, notes, samples, calls a move, length of prompts."""
    steps = workflow.steps
    counts = [float(sum(isinstance(s, kind) for s in steps)) for kind in KINDS]
    notes = sum(isinstance(s, AskStep) and not s.answers for s in steps)
    tools = sum(isinstance(s, ToolStep) and s.tool == "lookahead" for s in steps)
    samples = sum(s.samples for s in steps if isinstance(s, AskStep))
    words = sum(len(s.prompt.split()) for s in steps if isinstance(s, AskStep))
    return [*counts, float(notes), float(tools), samples / 4, workflow.calls / 4, words / 50]


def selection(
    scores: Sequence[float],
    uncertainties: Sequence[float],
    *,
    uniform: float,
    sharp: float,
    doubt: float,
) -> list[float]:
    """The probability of each node to be expanded.

    uniform / n + (1 - uniform) * softmax(sharp * ((1 - doubt) * score + doubt * uncertainty)).
    """
    mixed = [(1 - doubt) * s + doubt * u for s, u in zip(scores, uncertainties, strict=True)]
    weights = [exp(sharp * (value - max(mixed))) for value in mixed]
    total = sum(weights)
    return [uniform / len(mixed) + (1 - uniform) * weight / total for weight in weights]


class AgentSwift(Search):
    """Each iteration chooses a design, makes candidates, and plays the one predicted to be best.

    Recombination sets one of the components memory, planning and tool to another choice, without a
    model; mutation and refinement ask the model, `drafts` times each. With `writes=false` mutation
    is a random change, and nothing asks the model.
    """

    name = "agent-swift"
    paper = "AgentSwift: Value-guided Hierarchical Search (2025)"

    def __init__(
        self,
        *,
        iterations: Annotated[int, Meta(ge=1, description="designs played at most")] = 60,
        uniform: Annotated[float, Meta(ge=0, le=1, description="share of uniform choice")] = 0.2,
        sharp: Annotated[float, Meta(gt=0, description="sharpness of the soft choice")] = 10.0,
        doubt: Annotated[float, Meta(ge=0, le=1, description="weight of uncertainty")] = 0.3,
        drafts: Annotated[int, Meta(ge=1, description="mutations and refinements each")] = 1,
        writes: Annotated[bool, Meta(description="mutation and refinement ask the model")] = True,
        guided: Annotated[bool, Meta(description="false: play a random candidate")] = True,
    ) -> None:
        self._iterations, self._drafts, self._writes = iterations, drafts, writes
        self._mix = {"uniform": uniform, "sharp": sharp, "doubt": doubt}
        self._guided = guided
        self.values = ValueModel()

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        nodes = [(yield from self._play_design(studio, studio.add(start), None))]
        for _ in range(self._iterations):
            scores, doubts = [n.mean for n in nodes], [n.uncertainty for n in nodes]
            node = nodes[studio.rng.weighted(selection(scores, doubts, **self._mix))]
            candidates = yield from self._candidates(studio, node.variant)
            if not candidates:
                continue
            how, chosen = self._most_promising(studio, candidates)
            variant = studio.add(chosen, [node.variant], how)
            nodes.append((yield from self._play_design(studio, variant, node)))

    def _play_design(
        self, studio: Studio, variant: Variant, parent: SwiftNode | None
    ) -> Searching[SwiftNode]:
        """Play a design, note how wrong its prediction was, refit, and back its score up."""
        predicted = self.values.predict(variant.workflow)
        yield from studio.play(variant)
        score = studio.worth(variant)
        made = SwiftNode(variant, score, abs(predicted - score), 1, score, parent)
        for above in upwards(parent) if parent else ():
            above.visits, above.total = above.visits + 1, above.total + score
        known = [one for one in studio.archive if one.played]
        self.values.fit([one.workflow for one in known], [studio.worth(one) for one in known])
        return made

    def _candidates(
        self, studio: Studio, variant: Variant
    ) -> Searching[list[tuple[str, Workflow]]]:
        made = [("recombined", one) for one in recombine(variant.workflow)]
        if self._writes:
            made += yield from self._written(studio, variant)
        else:
            made += [("mutated", mutate(variant.workflow, studio.rng)) for _ in range(self._drafts)]
        known = {one.workflow.key for one in studio.archive}
        return [(how, one) for how, one in made if one.key not in known]

    def _written(self, studio: Studio, variant: Variant) -> Searching[list[tuple[str, Workflow]]]:
        worst = min(variant.played, key=lambda one: one.returns)
        agent = studio.shown(variant)
        prompts = {
            "mutated": MUTATE.format(agent=agent, form=FORM),
            "refined": REFINE.format(agent=agent, story=worst.story, form=FORM),
        }
        made = []
        for how, prompt in prompts.items():
            for _ in range(self._drafts):
                told = yield from studio.ask(prompt, system=LANGUAGE, heat=0.8)
                try:
                    made.append((how, read_proposal(told.text)[1]))
                except InvalidOption:
                    continue  # the other candidates remain
        return made

    def _most_promising(
        self, studio: Studio, candidates: Sequence[tuple[str, Workflow]]
    ) -> tuple[str, Workflow]:
        if not self._guided:
            return studio.rng.choice(candidates)
        return max(candidates, key=lambda one: self.values.predict(one[1]))


def recombine(workflow: Workflow) -> list[Workflow]:
    """The workflow with each choice of one component changed: added, left out or another."""
    made = []
    for component, choices in COMPONENTS.items():
        bare, had = workflow, False
        for step in workflow.steps:
            if _component(step) == component:
                bare, had = without(bare, step.name), True
        options = [bare] if had else []
        for choice in choices:
            # a component that is put in needs no random number
            options.append(choice(bare, None))  # type: ignore[arg-type]
        made += [one for one in options if one.key != workflow.key and _fits(one)]
    return made


def _component(step: object) -> str:
    if isinstance(step, RecallStep):
        return "memory"
    if isinstance(step, ToolStep):
        return "tool"
    return "planning" if isinstance(step, AskStep) and not step.answers else ""


def _fits(workflow: Workflow) -> bool:
    try:
        return bool(workflow.steps) and check_workflow(workflow) is not None
    except InvalidOption:
        return False
