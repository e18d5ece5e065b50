"""EvoAgent: one agent evolves into a team, by crossover, mutation and selection.

Yuan et al., "EvoAgent: Towards Automatic Multi-Agent Generation via Evolutionary Algorithms",
NAACL 2025. The settings of an agent, here the role and prompt of an ask step, are its genes. A
model crosses parents by what their answers lacked, mutates children so that they differ from the
team, and checks that a child both inherits and differs. The team's answers are integrated by a
last step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from palestra import InvalidOption, Meta

from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant
from palestra_adapters.optimisers.wording import stated_json
from palestra_adapters.workflows.steps import MOST, AskStep, Workflow

INTEGRATE = "integrate"
INTEGRATION = "Members of your team have answered. Take the best of their answers, and decide."
CROSS = (
    "A team of agents plays this game. Its members:\n{team}\n\nEpisodes of the team:\n{episodes}"
    "\n\nSay which member's part led to a bad move and what it lacked. Then write a member that "
    "combines what is good in these and has what they lack, as JSON: {form}"
)
MUTATE = (
    "A team of agents plays this game. Its members:\n{team}\n\nA new member was proposed:\n{child}"
    "\n\nChange the proposal so that the new member differs from every member in role and "
    "expertise, keeps what it has inherited, and helps the team. Write it as JSON: {form}"
)
CHECK = (
    "A team of agents plays this game. Its members:\n{team}\n\nA new member is proposed:\n{child}"
    "\n\nDoes it keep what is good in the members, does it differ from all of them, and will it "
    "help to play this game? Answer yes or no."
)
FORM = '{"role": "who it is and what it is good at", "prompt": "what it is to do at every move"}'


class Gene(msgspec.Struct, frozen=True):
    """What evolves: an agent's role and prompt."""

    role: str
    prompt: str = ""


class EvoAgent(Search):
    """Each generation proposes `children`, adds those that pass the check, and plays the team.

    A generation whose team does not beat the best so far is discarded, and the next begins from
    the best team; the team has at most `team` members.
    """

    name = "evo-agent"
    paper = "EvoAgent: Towards Automatic Multi-Agent Generation (2025)"

    def __init__(
        self,
        *,
        generations: Annotated[int, Meta(ge=1, description="generations at most")] = 3,
        children: Annotated[int, Meta(ge=1, description="members proposed a generation")] = 2,
        team: Annotated[int, Meta(ge=2, le=MOST - 1, description="members at most")] = 6,
        shown: Annotated[int, Meta(ge=1, description="episodes that the model reads")] = 2,
    ) -> None:
        self._generations, self._children = generations, children
        self._team, self._shown = team, shown

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        best = studio.add(start)
        yield from studio.play(best)
        genes = genes_of(start)
        for _ in range(self._generations):
            grown = list(genes)
            for _ in range(self._children):
                child = yield from self._child(studio, best, grown)
                if child is not None and len(grown) < self._team:
                    grown.append(child)
            if len(grown) == len(genes):
                continue
            team = studio.add(team_of(grown), [best], f"team of {len(grown)}")
            yield from studio.play(team)
            if team.mean > best.mean:
                best, genes = team, grown

    def _child(
        self, studio: Studio, best: Variant, genes: Sequence[Gene]
    ) -> Searching[Gene | None]:
        """A crossed and mutated member; None if it is unreadable or fails the check."""
        team = describe_genes(genes)
        worst = sorted(best.played, key=lambda one: one.returns)[: self._shown]
        episodes = "\n\n".join(one.story for one in worst)
        crossing = CROSS.format(team=team, episodes=episodes, form=FORM)
        child = read_gene((yield from studio.ask(crossing, heat=0.8)).text)
        if child is None:
            return None
        mutating = MUTATE.format(team=team, child=describe_genes([child]), form=FORM)
        child = read_gene((yield from studio.ask(mutating, heat=0.8)).text)
        if child is None or child in genes:
            return None
        verdict = yield from studio.ask(CHECK.format(team=team, child=describe_genes([child])))
        return child if verdict.text.strip().lower().startswith("yes") else None


def genes_of(workflow: Workflow) -> list[Gene]:
    """The genes of the steps that answer, without that which integrates them."""
    asks = [s for s in workflow.steps if isinstance(s, AskStep) and s.answers]
    return [Gene(s.role, s.prompt) for s in asks if s.name != INTEGRATE] or [Gene("")]


def team_of(genes: Sequence[Gene]) -> Workflow:
    """One ask step a member, and a last one that reads them all and decides."""
    members = [AskStep(f"member-{i + 1}", g.prompt, g.role) for i, g in enumerate(genes)]
    last = AskStep(INTEGRATE, INTEGRATION, reads=tuple(member.name for member in members))
    return Workflow((*members, last), "team")


def describe_genes(genes: Sequence[Gene]) -> str:
    """Genes as the model reads them."""
    return "\n".join(
        f"{i + 1}. role: {gene.role or 'player'}; prompt: {gene.prompt or 'none'}"
        for i, gene in enumerate(genes)
    )


def read_gene(text: str) -> Gene | None:
    """The member that a reply ends with, None if it has none."""
    try:
        return msgspec.json.decode(stated_json(text), type=Gene)
    except (InvalidOption, msgspec.MsgspecError):
        return None
