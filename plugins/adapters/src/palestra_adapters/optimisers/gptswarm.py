"""GPTSwarm: agents as a graph whose edges are learnt by policy gradient.

Zhuge et al., "GPTSwarm: Language Agents as Optimizable Graphs", ICML 2024. Every possible edge
between agents, and from an agent to the final vote, is there with a probability of its own. Graphs
are sampled, edges that would close a circle are left out, and REINFORCE raises the probabilities of
edges that are in graphs which do better than the mean of their batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray
from palestra import InvalidOption, Meta, Rng

from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant
from palestra_adapters.workflows.steps import AskStep, VoteStep, Workflow

FINAL = "vote"
ROLES = (
    "You look for the move that gains most.",
    "You look for what can go wrong.",
    "You think about what the others will do.",
    "You compare all moves one by one.",
    "You follow well-known strategy.",
)
LIAR = "You are a liar: give a wrong answer on purpose, with a convincing thought."
READ = "Take what the others wrote into account, as far as it is right."


@dataclass(slots=True)
class Edges:
    """Candidate edges, as pairs of names, with the logit of each."""

    pairs: list[tuple[str, str]]
    logits: NDArray[np.float64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        return 1 / (1 + np.exp(-self.logits))

    def sample(self, rng: Rng) -> tuple[list[int], list[float]]:
        """The edges of one graph, in random order of drawing, and the score d log p / d logit.

        An edge that would close a circle is not drawn, so its score is 0.
        """
        order = list(range(len(self.pairs)))
        rng.shuffle(order)
        shares, score = self.probabilities, [0.0] * len(self.pairs)
        chosen: list[int] = []
        for number in order:
            if reaches(
                self.pairs[number][1], self.pairs[number][0], [self.pairs[i] for i in chosen]
            ):
                continue
            taken = rng.random() < shares[number]
            score[number] = float(taken) - float(shares[number])
            if taken:
                chosen.append(number)
        return sorted(chosen), score

    def climb(
        self, scores: Sequence[Sequence[float]], worths: Sequence[float], rate: float
    ) -> None:
        """REINFORCE: logit += rate * mean((worth - mean worth) * score)."""
        gains = np.asarray(worths) - np.mean(worths)
        self.logits = self.logits + rate * np.mean(gains[:, None] * np.asarray(scores), axis=0)

    @property
    def likely(self) -> list[int]:
        """Edges of probability 1/2 or more, the most probable first, without circles."""
        chosen: list[int] = []
        for number in np.argsort(-self.logits, kind="stable").tolist():
            pair = self.pairs[number]
            if self.logits[number] >= 0 and not reaches(
                pair[1], pair[0], [self.pairs[i] for i in chosen]
            ):
                chosen.append(number)
        return sorted(chosen)


def reaches(start: str, end: str, pairs: Sequence[tuple[str, str]]) -> bool:
    """Whether a path of edges leads from one name to another, or they are one."""
    seen, front = {start}, [start]
    while front:
        here = front.pop()
        for a, b in pairs:
            if a == here and b not in seen:
                seen.add(b)
                front.append(b)
    return end in seen


class GptSwarm(Search):
    """Samples `batch` graphs, plays each on `episodes` training seeds, and climbs at `rate`.

    Agents are the steps that answer in the starting workflow if it has several; else `agents` asks
    with roles, of which the last `liars` answer wrongly on purpose (the paper's adversaries). The
    graph of all edges that are at least as likely as not is played on all training seeds and
    returned.
    """

    name = "gptswarm"
    paper = "GPTSwarm: Language Agents as Optimizable Graphs (2024)"

    def __init__(
        self,
        *,
        agents: Annotated[
            int, Meta(ge=2, le=10, description="agents, if not given by the start")
        ] = 4,
        liars: Annotated[int, Meta(ge=0, description="agents that answer wrongly on purpose")] = 0,
        updates: Annotated[int, Meta(ge=1, description="steps of the gradient")] = 20,
        batch: Annotated[int, Meta(ge=2, description="graphs a step")] = 4,
        episodes: Annotated[int, Meta(ge=1, description="episodes a graph")] = 2,
        rate: Annotated[float, Meta(gt=0, description="learning rate")] = 1.0,
        initial: Annotated[float, Meta(gt=0, lt=1, description="probability at the start")] = 0.5,
    ) -> None:
        if liars > agents:
            raise InvalidOption(f"liars={liars} is more than agents={agents}")
        self._agents, self._liars, self._updates = agents, liars, updates
        self._batch, self._episodes, self._rate = batch, episodes, rate
        self._initial = initial
        self.edges: Edges | None = None
        self._result: Variant | None = None

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        yield from studio.play(studio.add(start))
        members = self._members(start)
        names = [member.name for member in members]
        pairs = [(a, b) for a in names for b in (*names, FINAL) if a != b]
        logit = float(np.log(self._initial / (1 - self._initial)))
        self.edges = edges = Edges(pairs, np.full(len(pairs), logit))
        for number in range(self._updates):
            yield from self._update(studio, members, edges, number)
        graph = graph_of(members, [edges.pairs[i] for i in edges.likely])
        if graph is not None:
            self._result = self._variant(studio, graph, "likely edges")
            yield from studio.play(self._result)

    def _update(
        self, studio: Studio, members: Sequence[AskStep], edges: Edges, number: int
    ) -> Searching[None]:
        scores, worths = [], []
        for _ in range(self._batch):
            chosen, score = edges.sample(studio.rng)
            graph = graph_of(members, [edges.pairs[i] for i in chosen])
            scores.append(score)
            if graph is None:  # nobody speaks to the vote: as bad as can be
                worths.append(0.0)
                continue
            variant = self._variant(studio, graph, f"sampled at update {number + 1}")
            if variant.episodes < self._episodes:
                yield from studio.play(variant, self._episodes - variant.episodes)
            own = studio.worths(variant)[: self._episodes]
            worths.append(sum(own) / len(own))
        edges.climb(scores, worths, self._rate)

    def _variant(self, studio: Studio, graph: Workflow, how: str) -> Variant:
        """The archive's variant with this graph; a graph sampled twice is one variant."""
        return studio.known(graph) or studio.add(graph, (), how)

    def _members(self, start: Workflow) -> list[AskStep]:
        own = [s for s in start.steps if isinstance(s, AskStep) and s.answers]
        if len(own) > 1:
            return [msgspec.structs.replace(step, reads=()) for step in own]
        honest = self._agents - self._liars
        roles = [ROLES[i % len(ROLES)] for i in range(honest)] + [LIAR] * self._liars
        return [AskStep(f"agent-{i + 1}", READ, role) for i, role in enumerate(roles)]

    def choose(self, studio: Studio) -> Variant:
        return self._result or studio.best


def graph_of(members: Sequence[AskStep], pairs: Sequence[tuple[str, str]]) -> Workflow | None:
    """The workflow of a graph without circles; agents that do not reach the vote are left out.

    None if no agent reaches it.
    """
    useful = [m for m in members if reaches(m.name, FINAL, pairs)]
    if not useful:
        return None
    steps: list[AskStep] = []
    while len(steps) < len(useful):
        placed = {step.name for step in steps}
        names = {member.name for member in useful}
        for member in useful:
            reads = tuple(a for a, b in pairs if b == member.name and a in names)
            if member.name not in placed and set(reads) <= placed:
                steps.append(msgspec.structs.replace(member, reads=reads))
                break
    final = VoteStep(FINAL, tuple(s.name for s in steps if (s.name, FINAL) in pairs))
    return Workflow((*steps, final), "swarm")
