"""PromptAgent: Monte Carlo tree search over prompts, with errors as the reason for every change.

Wang et al., "PromptAgent: Strategic Planning with Language Models Enables Expert-level Prompt
Optimization", ICLR 2024. A state is a prompt; an action is feedback on errors that it made on a few
training episodes; the next states are prompts rewritten by the feedback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from typing import Annotated

import msgspec
from palestra import InvalidOption, Meta
from palestra.quoting import quote

from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant, WorkflowEpisode
from palestra_adapters.workflows.steps import AskStep, Workflow

FEEDBACK = (
    "I write a prompt for a language model that plays this game. My current prompt is:\n{prompt}"
    "\n\nIt did badly in these episodes:\n{errors}\n\nFor each of them, say step by step why the "
    "prompt let this happen. Then list, one line each, what the prompt lacks."
)
REWRITE = (
    "I write a prompt for a language model that plays this game. My current prompt is:\n{prompt}"
    "\n\nIt did badly in these episodes:\n{errors}\n\nWhat is wrong with the prompt:\n{feedback}"
    "\n\nThe prompts before it, oldest first, each better informed than the last:\n{path}\n\n"
    "Write {n} new prompts that repair these faults. Put each between <START> and <END>."
)


@dataclass(slots=True, eq=False)
class PromptNode:
    """A prompt of the tree; `sums` has the sum of rewards from here to the end of each path."""

    variant: Variant
    reward: float
    parent: PromptNode | None = None
    children: list[PromptNode] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def value(self) -> float:
        """The mean of the sums; the node's own reward before any path has gone through it."""
        return sum(self.sums) / len(self.sums) if self.sums else self.reward

    def bound(self, c: float) -> float:
        """The upper confidence bound of this child."""
        above = len(self.parent.sums) if self.parent else 0
        return self.value + c * sqrt(log(above + 1) / max(1, len(self.sums)))


def back_propagate(path: Sequence[PromptNode]) -> None:
    """Add to every node of a path the sum of the rewards from it to the path's end."""
    total = 0.0
    for node in reversed(path):
        total += node.reward
        node.sums.append(total)


class PromptAgent(Search):
    """Each of `iterations` descends by the bound, expands `width` errors' worth of prompts, and
    follows the best child down to `depth`.

    Every expansion plays `batch` episodes, asks for feedback on those that were worth less than
    `enough`, and for `prompts` new prompts; each is played on all training seeds. A path ends early
    at a prompt that is better than all before it, or worse than the mean of its parent and the
    root. step: the name of the ask step whose prompt is written, by default the first.
    """

    name = "prompt-agent"
    paper = "PromptAgent: Strategic Planning with Language Models (2024)"

    def __init__(
        self,
        *,
        iterations: Annotated[int, Meta(ge=1, description="paths through the tree")] = 12,
        width: Annotated[int, Meta(ge=1, description="batches of errors an expansion")] = 3,
        prompts: Annotated[int, Meta(ge=1, le=5, description="new prompts a batch")] = 1,
        depth: Annotated[int, Meta(ge=1, description="changes of a prompt in a row")] = 8,
        shallow: Annotated[int, Meta(ge=0, description="depth up to which no path ends early")] = 2,
        batch: Annotated[int, Meta(ge=1, description="episodes read for errors")] = 5,
        c: Annotated[float, Meta(ge=0, description="weight of exploration")] = 2.5,
        enough: Annotated[float, Meta(description="worth of an episode without error")] = 1.0,
        step: Annotated[str, Meta(description="the step whose prompt is written")] = "",
    ) -> None:
        self._iterations, self._width, self._prompts = iterations, width, prompts
        self._depth, self._shallow, self._batch, self._c = depth, shallow, batch, c
        self._enough, self._step = enough, step
        self._top = 0.0

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        asks = [s.name for s in start.steps if isinstance(s, AskStep)]
        self._step = self._step or (asks[0] if asks else "")
        if self._step not in asks:
            raise InvalidOption(f"step={self._step!r} is no ask step; choose from {asks}")
        first = studio.add(start)
        yield from studio.play(first)
        root = PromptNode(first, studio.worth(first))
        self._top = root.reward
        for _ in range(self._iterations):
            path = self._select(root)
            if path[-1].depth < self._depth:
                yield from self._simulate(studio, path, root)
            back_propagate(path)

    def _select(self, root: PromptNode) -> list[PromptNode]:
        """From the root to a leaf, by the greatest bound."""
        path = [root]
        while path[-1].children and not self._ends(path[-1], root):
            path.append(max(path[-1].children, key=lambda child: child.bound(self._c)))
        return path

    def _ends(self, node: PromptNode, root: PromptNode) -> bool:
        """Whether a path ends here: too deep, or worse than what it is made from."""
        if node.depth >= self._depth:
            return True
        if node.parent is None or node.depth <= self._shallow:
            return False
        return node.reward < (root.reward + node.parent.reward) / 2

    def _simulate(
        self, studio: Studio, path: list[PromptNode], root: PromptNode
    ) -> Searching[None]:
        """Expand the leaf, then go on with the best child until the path ends."""
        node = path[-1]
        while not self._ends(node, root):
            if not node.children:
                yield from self._expand(studio, node)
            if not node.children:
                return
            node = max(node.children, key=lambda child: child.reward)
            path.append(node)
            best_so_far, self._top = self._top, max(self._top, node.reward)
            if node.reward > best_so_far and node.depth > self._shallow:
                return

    def _expand(self, studio: Studio, node: PromptNode) -> Searching[None]:
        for _ in range(self._width):
            wrong = self._errors(studio, node.variant)
            if not wrong:
                return
            told = yield from self._feedback(studio, node, wrong)
            for prompt in told:
                child = self._child(studio, node, prompt)
                if child is not None:
                    yield from studio.play(child)
                    node.children.append(PromptNode(child, studio.worth(child), node))

    def _errors(self, studio: Studio, variant: Variant) -> list[WorkflowEpisode]:
        """Episodes of a random batch that were worth less than enough."""
        played = list(variant.played)
        studio.rng.shuffle(played)
        return [one for one in played[: self._batch] if studio.scale(one.returns) < self._enough]

    def _feedback(
        self, studio: Studio, node: PromptNode, wrong: Sequence[WorkflowEpisode]
    ) -> Searching[list[str]]:
        errors = "\n\n".join(f"Episode {i + 1}:\n{one.story}" for i, one in enumerate(wrong))
        prompt = self._prompt(node)
        told = yield from studio.ask(FEEDBACK.format(prompt=prompt, errors=errors), heat=0.8)
        path = "\n".join(f"{i + 1}. {text}" for i, text in enumerate(self._history(node)))
        text = REWRITE.format(
            prompt=prompt, errors=errors, feedback=quote(told.text), path=path, n=self._prompts
        )
        written = yield from studio.ask(text, heat=0.8)
        return read_prompts(written.text)[: self._prompts]

    def _child(self, studio: Studio, node: PromptNode, prompt: str) -> Variant | None:
        workflow = node.variant.workflow
        steps = [
            msgspec.structs.replace(s, prompt=prompt)
            if isinstance(s, AskStep) and s.name == self._step
            else s
            for s in workflow.steps
        ]
        changed = msgspec.structs.replace(workflow, steps=tuple(steps))
        try:
            studio.refuse_known(changed)
            return studio.add(changed, [node.variant], "rewritten")
        except InvalidOption:
            return None

    def _prompt(self, node: PromptNode) -> str:
        step = node.variant.workflow.step(self._step)
        return step.prompt if isinstance(step, AskStep) and step.prompt else "(empty)"

    def _history(self, node: PromptNode) -> list[str]:
        above = self._history(node.parent) if node.parent else []
        return [*above, self._prompt(node)]


def read_prompts(text: str) -> list[str]:
    """The texts between <START> and <END>."""
    parts = [part.partition("<END>") for part in text.split("<START>")[1:]]
    return [before.strip() for before, marked, _ in parts if marked and before.strip()]
