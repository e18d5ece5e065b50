"""ADAS: a meta agent designs agents from a growing archive of all that were designed before.

Hu, Lu and Clune, "Automated Design of Agentic Systems", ICLR 2025 (Meta Agent Search). There a
design is Python code; here it is a workflow, which needs no sandbox.
"""

from __future__ import annotations

from typing import Annotated

from palestra import Meta

from palestra_adapters.optimisers.search import Search, Searching, Studio, Told, start_with
from palestra_adapters.optimisers.wording import FORM, LANGUAGE
from palestra_adapters.workflows.steps import Workflow, known_workflows

PROPOSE = (
    "You design agents for this game. These have been designed and tested so far:\n\n{archive}\n\n"
    "Learn from them what works and what does not, and think of related work. Design an agent that "
    "is new and interesting and will score higher.\n{form}"
)
NOVEL = (
    "{prompt}\n\nYour draft:\n{draft}\n\nReflect on it. Is it really different from the archive, "
    "and would it score higher? Has it mistakes: a step that reads a name that does not exist, "
    "notes that nobody reads, a vote over one answer? Write the improved design, or the same one."
)
REVIEW = (
    "{prompt}\n\nYour draft:\n{draft}\n\nRead the prompts as the model will that has to follow "
    "them. Make them precise for this game. Write the final design."
)


class Adas(Search):
    """Every generation proposes one design from the whole archive, and every design stays in it.

    The archive begins with known designs unless `known` is false. Each draft is reflected on
    `reflections` times before it is tested: for novelty and mistakes, then for its prompts.
    """

    name = "adas"
    paper = "Automated Design of Agentic Systems (2025)"

    def __init__(
        self,
        *,
        generations: Annotated[int, Meta(ge=1, description="designs proposed at most")] = 25,
        reflections: Annotated[int, Meta(ge=0, le=2, description="reflections on a draft")] = 2,
        known: Annotated[bool, Meta(description="begin with designs from the literature")] = True,
    ) -> None:
        self._generations, self._reflections, self._known = generations, reflections, known

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        first = [start, *known_workflows()] if self._known else [start]
        yield from start_with(studio, first)
        for _ in range(self._generations):
            prompt = PROPOSE.format(archive=studio.listed(studio.archive), form=FORM)
            draft = yield from self._draft(studio, prompt)
            made = yield from studio.accept(draft, prompt, (), "designed")
            if made is not None:
                yield from studio.play(made)

    def _draft(self, studio: Studio, prompt: str) -> Searching[Told]:
        told = yield from studio.ask(prompt, system=LANGUAGE, heat=0.8)
        spent = told.usage
        for reflect in (NOVEL, REVIEW)[: self._reflections]:
            text = reflect.format(prompt=prompt, draft=told.text)
            told = yield from studio.ask(text, system=LANGUAGE, heat=0.8)
            spent += told.usage
        return Told(told.text, spent)
