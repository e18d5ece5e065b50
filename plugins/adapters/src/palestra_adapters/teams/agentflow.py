"""AgentFlow: planner, executor, verifier and generator around one memory.

Li et al., "In-the-Flow Agentic System Optimization for Effective Planning and Tool Use", 2025. This
module has the four modules and their memory. Tools are what can be found out about a game without a
model: `lookahead` and `outcomes` of `workflows`. The estimator `flow-grpo` of `palestra-rewards`
gives the outcome to the planner's turns. The wording is this package's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from palestra import BudgetSpent, Decision, InvalidOption, Meta, Turn, agent
from palestra.quoting import quote

from palestra_adapters.adapter import rules_of, story
from palestra_adapters.react import ACTION, FORM
from palestra_adapters.talks import Speaking, Utterance
from palestra_adapters.teams.team import HEAT
from palestra_adapters.thinking import Thinking, together
from palestra_adapters.workflows.steps import ToolStep
from palestra_adapters.workflows.tools import use_tool

ROLES = ("planner", "executor", "verifier", "generator")
PLANNER, EXECUTOR, VERIFIER, GENERATOR = range(4)
FORMS = {
    PLANNER: (
        "You plan how the question below is answered. Others carry the steps out. Read what is in "
        "memory, and reply with the next step alone:\nGoal: what the step is to find out\n"
        "Command: what is to be worked out, in one sentence"
    ),
    EXECUTOR: (
        "You carry out one step towards an answer. Do what the command says, and nothing else. "
        "Reply with the result in a few sentences."
    ),
    VERIFIER: (
        "You check whether memory holds all that the answer needs, without errors. Say why in a "
        "sentence, and end with one word on a line of its own: STOP if it does, CONTINUE if not."
    ),
}
TOOLS = (
    "\nTool: none; or lookahead, the mean payoff of random play after each move; or outcomes, the "
    "position after each move"
)
CHOICE = re.compile(r"^\W*Tool\W+(lookahead|outcomes)\b", re.MULTILINE | re.IGNORECASE)
FOUND = "The tool {tool} found:"
MEMORY = "Memory, step by step:"
EMPTY = "Memory is empty."
STOP = re.compile(r"^[^\w\n]*STOP[^\w\n]*$", re.MULTILINE)


@agent(
    "agentflow",
    kind="llm",
    summary="Planner, executor, verifier and generator around one memory.",
    paper="In-the-Flow Agentic System Optimization for Effective Planning and Tool Use (2025)",
)
class AgentFlow(Speaking):
    """Planner, executor and verifier take steps until it says STOP; then the generator moves.

    There are at most `rounds` steps, for each of which the planner may choose a tool, whose
    findings the executor reads. All modules read the question and the memory of steps. Up to four
    models joined by `+` are the modules in this order, and the last one plays the rest. Every
    decision has `games` such talks, the first of which plays; a talk's tag "roles" names modules,
    so that `estimate("flow-grpo", talks, planners=["planner"])` trains the planner alone.
    """

    def __init__(
        self,
        *,
        rounds: Annotated[int, Meta(ge=1, description="most steps before the move")] = 3,
        games: Annotated[int, Meta(ge=1, description="talks of every decision")] = 1,
        playouts: Annotated[
            int, Meta(ge=0, le=64, description="of the tool lookahead, a move; 0: no tools")
        ] = 8,
        **settings: Any,
    ) -> None:
        settings.setdefault("temperature", HEAT if games > 1 else 0.0)
        settings.setdefault("max_tokens", 256)
        super().__init__(**settings)
        self._rounds, self._games, self._playouts = rounds, games, playouts

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        played = yield from together([self._flow(turn, advice) for _ in range(self._games)])
        talks = [self.talk_of(turn, ROLES, lines, roles=list(ROLES)) for lines in played]
        last = played[0][-1]
        return Decision(
            text=last.move or last.text.rpartition(ACTION)[2].strip(),
            thought="\n".join(f"{ROLES[line.seat]}: {line.text}" for line in played[0]),
            model=last.reply.model,
            facts={"talks": talks},
        )

    def _flow(self, turn: Turn, advice: str) -> Thinking[list[Utterance]]:
        rules = rules_of(turn, advice)
        question = story(turn, "The last answer")
        lines: list[Utterance] = []
        memory: list[str] = []
        try:
            for step in range(1, self._rounds + 1):
                plan = yield from self._line(turn, PLANNER, rules, question, memory)
                lines.append(plan)
                order = f"{question}\n\nThe step:\n{quote(plan.text)}{self._found(turn, plan.text)}"
                done = yield from self._line(turn, EXECUTOR, rules, order, memory)
                lines.append(done)
                memory.append(f"Step {step}:\n{quote(plan.text)}\nResult: {quote(done.text)}")
                check = yield from self._line(turn, VERIFIER, rules, question, memory)
                lines.append(check)
                if STOP.search(check.text):
                    break
        except BudgetSpent:
            if not lines:
                raise
        asked = self.single(rules, _reading(question, memory), answer=FORM)
        final = yield from self.answer(turn, GENERATOR, asked, member=self.role_member(GENERATOR))
        return [*lines, replace(final, move=final.move or "")]

    def _line(
        self, turn: Turn, role: int, rules: str, question: str, memory: Sequence[str]
    ) -> Thinking[Utterance]:
        tools = TOOLS if role == PLANNER and self._playouts and turn.legal_texts else ""
        asked = self.single(rules, _reading(question, memory), answer=FORMS[role] + tools)
        return (yield from self.say(turn, role, asked, member=self.role_member(role)))

    def _found(self, turn: Turn, plan: str) -> str:
        """What the tool found that a plan names, as the executor reads it."""
        chosen = CHOICE.search(plan) if self._playouts and turn.legal_texts else None
        if chosen is None:
            return ""
        tool = chosen[1].lower()
        kind: Literal["lookahead", "outcomes"] = "outcomes" if tool == "outcomes" else "lookahead"
        step = ToolStep(tool, kind, self._playouts)
        try:
            found = use_tool(step, turn, self.rng)
        except InvalidOption as error:  # the game hides something and cannot be looked ahead in
            found = str(error)
        return f"\n\n{FOUND.format(tool=tool)}\n{found}"


def _reading(question: str, memory: Sequence[str]) -> str:
    return "\n\n".join([question, *([MEMORY, *memory] if memory else [EMPTY])])
