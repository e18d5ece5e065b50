"""MARS: a plan of improvements, and a Socratic dialogue for each of them.

Zhang et al., "MARS: A Multi-Agent Framework Incorporating Socratic Guidance for Automated Prompt
Optimization", 2025. A planner writes the steps by which the prompt of this task is improved. For
each of them a teacher asks a question instead of saying what to write, a critic sends questions
back that are not Socratic, and a student answers by writing the prompt again. Each prompt is played
on the training seeds; the next steps and the next plan read how it did. The wording is this
package's own.

Left out: the manager and the user's proxy, which pass messages on.
"""

from __future__ import annotations

import re
from typing import Annotated

from palestra import InvalidOption, Meta
from palestra.quoting import quote

from palestra_adapters.optimisers.agents_of_change import between
from palestra_adapters.optimisers.evo_agent_x import replace_step
from palestra_adapters.optimisers.search import Search, Searching, Studio, Variant
from palestra_adapters.optimisers.symbolic import prompt_of, with_prompt
from palestra_adapters.workflows.steps import AskStep, Workflow

HEAT = 0.8
LONGEST = 4000  # characters of a prompt
PLAN = (
    "A language model plays this game by a prompt. You plan how the prompt is improved for this "
    "game. {state}\n\nWrite at most {count} steps that build on one another, one line each with "
    "its number: what the prompt is to gain, not the words themselves."
)
ASK = (
    "You teach a student who writes the prompt by which a language model plays this game. {state}"
    "\n\nThis step of the plan is on: {step}\n{refused}\nAsk the student one or two questions that "
    "lead to what the prompt lacks for this step. Do not say what to write."
)
JUDGE = (
    "You judge a teacher's questions about a prompt. This step of the plan is on: {step}\n\nThe "
    "teacher asks:\n{question}\n\nA good question is Socratic: it is on this step, makes the "
    "student think, and does not give the answer away. Reply with one line: `good`, or `bad:` and "
    "what is wrong with it in one sentence."
)
ANSWER = (
    "You write the prompt by which a language model plays this game. {state}\n\nYour teacher asks: "
    "{question}\n\nAnswer the questions for yourself, and write the improved prompt between "
    "<START> and <END>."
)
STATE = "The prompt is now:\n{prompt}\n\nIts mean return is {mean:.3f}.\n{trend}{episodes}"
NUMBERED = re.compile(r"^[^\w\n]*\d{1,2}[.):][^\w\n]*(.+)$", re.MULTILINE)
BAD = re.compile(r"^[^\w\n]*bad\b[^\w\n]*(.*)$", re.MULTILINE | re.IGNORECASE)


class Mars(Search):
    """Makes a plan of at most `steps` steps, `rounds` times, each from the best prompt so far.

    Within a round every step writes on the prompt of the step before, whatever it was worth. A
    question that the critic refuses is asked again, at most `questions` in all; the last one is put
    to the student in any case. step: the name of the ask step whose prompt is written, by default
    the first that asks for a move.
    """

    name = "mars"
    paper = "MARS: A Multi-Agent Framework Incorporating Socratic Guidance (2025)"

    def __init__(
        self,
        *,
        rounds: Annotated[int, Meta(ge=1, description="plans that are carried out")] = 3,
        steps: Annotated[int, Meta(ge=1, le=20, description="most steps of a plan")] = 4,
        questions: Annotated[int, Meta(ge=1, description="most questions of a step")] = 3,
        shown: Annotated[int, Meta(ge=0, description="worst episodes that are read")] = 2,
        step: Annotated[str, Meta(description="the step whose prompt is written")] = "",
    ) -> None:
        self._rounds, self._steps, self._questions = rounds, steps, questions
        self._shown, self._step = shown, step

    def run(self, studio: Studio, start: Workflow) -> Searching[None]:
        asks = [s.name for s in start.steps if isinstance(s, AskStep) and s.answers]
        name = self._step or (asks[0] if asks else "")
        if name not in asks:
            raise InvalidOption(f"step={name!r} asks for no move; choose from {asks}")
        first = studio.add(start)
        yield from studio.play(first)
        for _ in range(self._rounds):
            here, before = studio.best, studio.best
            asked = PLAN.format(state=self._state(here, before, name), count=self._steps)
            told = yield from studio.ask(asked, heat=HEAT)
            for goal in NUMBERED.findall(told.text)[: self._steps]:
                state = self._state(here, before, name)
                question = yield from self._question(studio, state, goal)
                new = yield from self._answered(studio, here, name, state, question)
                here, before = (new, here) if new is not None else (here, before)

    def _question(self, studio: Studio, state: str, goal: str) -> Searching[str]:
        """The teacher's questions for one step, after what the critic says of them."""
        refused = question = ""
        for turn in range(self._questions):
            asked = ASK.format(state=state, step=quote(goal), refused=refused)
            question = (yield from studio.ask(asked, heat=HEAT)).text
            if turn + 1 == self._questions:
                break
            asked = JUDGE.format(step=quote(goal), question=quote(question))
            found = BAD.search((yield from studio.ask(asked)).text)
            if found is None:
                break
            refused = f"\nYou asked:\n{quote(question)}\nThe critic says: {quote(found[1])}\n"
        return question

    def _answered(
        self, studio: Studio, here: Variant, name: str, state: str, question: str
    ) -> Searching[Variant | None]:
        """The student's prompt, played; None where it is empty or was written before."""
        told = yield from studio.ask(
            ANSWER.format(state=state, question=quote(question)), heat=HEAT
        )
        old = here.workflow.step(name)
        changed = replace_step(here.workflow, old, with_prompt(old, between(told.text)[:LONGEST]))
        if studio.known(changed):
            return None
        made = studio.add(changed, [here], "answered", asked=told.usage)
        yield from studio.play(made)
        return made

    def _state(self, here: Variant, before: Variant, name: str) -> str:
        """The prompt, its worth, what the last step changed of it, and its worst episodes."""
        worst = sorted(here.played, key=lambda one: one.returns)[: self._shown]
        stories = [f"Paid {one.returns:g}:\n{one.story}" for one in worst]
        gain = here.mean - before.mean
        return STATE.format(
            prompt=quote(prompt_of(here.workflow.step(name))),
            mean=here.mean,
            trend=f"The last step changed it by {gain:+.3f}.\n" if here is not before else "",
            episodes="\n\n".join(["\nEpisodes it was paid least for:", *stories]) if worst else "",
        )
