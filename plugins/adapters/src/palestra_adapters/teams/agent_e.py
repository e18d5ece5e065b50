"""Agent-E: a planner that never sees a page, and a browser agent that never sees the task.

"Agent-E: From Autonomous Web Navigation to Foundational Design Principles in Agentic Systems",
2024. The planner reads the task and reports, and gives one subtask at a time; the browser agent
starts afresh for each, reads pages and acts until it reports. Distilled pages and sentences about
what an action changed are options of the sites (`distill`, `changes`). The wording is this
package's own.

Left out: the mix of distillations chosen by the agent; WebVoyager.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from palestra import Decision, InvalidOption, Meta, Turn, agent
from palestra.llm.conversation import Conversation
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter, game_text, split_thought
from palestra_adapters.react import read_steps
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

TASK, NEXT, DONE, REPORT = "Task: ", "Next:", "Done:", "Report:"
PLANNER = (
    "You plan how a task is done on a website. You see no page: a browser agent does what you say, "
    "knows nothing of the task, and reports. Say in each subtask all that it needs to know. The "
    "website, as it reads it too:"
)
PLAN = (
    "Write a thought, then `Next:` and one subtask, or, when the task is done, `Done:` and the "
    "answer if the task asks for one."
)
BROWSE = (
    "You work for a planner. Do this subtask and nothing else: {subtask}\n"
    "Answer every page with one line, `Action:` and your move, or, once you are done or cannot go "
    "on, `Report:` and all that was asked for or stood in the way. Never "
    "write Stop: the planner does, when the task is done."
)
NOW = "You may make no more moves. Report."
ROUNDS = 3  # subtasks that may be reported on without a move between them


@dataclass(slots=True)
class Errand:
    """State of an episode: the planner's talk, the browser's and its moves, and the last report."""

    plan: Conversation
    browse: Conversation | None = None  # None while the planner is at work
    subtasks: int = 0
    moves: int = 0
    report: str = ""


@agent(
    "agent-e",
    kind="llm",
    plays=("web/AppWorld-v0", "web/CRMDesk-v0", "web/Desktop-v0", "web/Shop-v0"),
    summary="A planner without pages and a browser agent without the task.",
    paper=(
        "Agent-E: From Autonomous Web Navigation to Foundational Design Principles in Agentic "
        "Systems (2024)"
    ),
)
class AgentE(Adapter):
    """A planner gives subtasks; a browser agent makes at most `moves` moves for each and reports.

    The fact `subtask` is the number, from 1, of the subtask that a move belongs to. With several
    models the first one plans and the last one browses.
    """

    def __init__(
        self,
        *,
        moves: Annotated[int, Meta(ge=1, description="most moves of a subtask")] = 12,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._moves = moves
        self._errands = self.by_seat(Errand)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        task, page = split_task(turn.position)
        key = turn.episode_key, turn.seat
        if key not in self._errands:
            site = turn.game.rules_for(turn.seat)
            rules = join_lines(PLANNER, site, task, advice)
            self._errands[key] = Errand(Conversation(self.style, rules, answer=PLAN))
        errand = self._errands[key]
        for _ in range(ROUNDS):
            decision = None
            if errand.browse is None:
                decision = yield from self._plan(turn, errand)
            if decision is None and errand.browse is not None:
                decision = yield from self._browse(turn, errand, errand.browse, page)
            if decision is not None:
                return decision
        return Decision(text="", thought=f"{ROUNDS} subtasks without a move")

    def _plan(self, turn: Turn, errand: Errand) -> Thinking[Decision | None]:
        """The next subtask, which returns None, or the end."""
        lines = [f"The browser agent reports: {quote(errand.report)}"] if errand.report else []
        lines += [f"That was refused: {turn.error}"] if turn.error else []
        errand.plan.ask("\n".join(lines) or "Begin.")
        (reply,) = yield [self.ask(errand.plan.messages, talk=errand.plan)]
        more, said = split_thought(reply)
        errand.plan.answer(said)
        errand.report = ""
        before, done, answer = said.rpartition(DONE)
        if done and NEXT not in answer:
            text = f"Stop(answer={answer.strip()!r})"
            facts = {"subtask": errand.subtasks}
            return Decision(text=text, thought=f"{more}{before}", model=reply.model, facts=facts)
        subtask = said.rpartition(NEXT)[2].strip()
        form = BROWSE.format(subtask=quote(subtask))
        errand.browse = Conversation(self.style, turn.game.rules_for(turn.seat), answer=form)
        errand.subtasks, errand.moves = errand.subtasks + 1, 0
        return None

    def _browse(
        self, turn: Turn, errand: Errand, talk: Conversation, page: str
    ) -> Thinking[Decision | None]:
        """A move of the browser agent; None if it reports instead."""
        spent = errand.moves >= self._moves and not turn.error
        refused = f"That was refused: {turn.error}\n" if turn.error and errand.moves else ""
        talk.ask("".join((refused, page, f"\n{NOW}" if spent else "")))
        (reply,) = yield [self.ask(talk.messages, member=len(self.models) - 1, talk=talk)]
        thought, said = split_thought(reply)
        talk.answer(said)
        before, reports, report = said.partition(REPORT)
        move = game_text(turn, read_steps(said)[1])
        if reports or spent or move.startswith("Stop("):  # only the planner ends the task
            errand.report = (report if reports else before).strip() or "nothing"
            errand.browse = None
            return None
        errand.moves += not turn.error
        decision = self.decide(turn, reply, thought)
        decision.text = move
        decision.facts = {**decision.facts, "subtask": errand.subtasks}
        return decision


def split_task(position: str) -> tuple[str, str]:
    """The line with the task, and the page without it."""
    lines = position.splitlines()
    tasks = [line for line in lines if line.startswith(TASK)]
    if not tasks:
        raise InvalidOption(
            f"agent-e plays websites, whose first line is the task; here it is {lines[0]!r}; use "
            "the agent 'delegate'"
        )
    lines.remove(tasks[0])
    return tasks[0], "\n".join(lines)
