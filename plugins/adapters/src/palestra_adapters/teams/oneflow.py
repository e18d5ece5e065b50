"""OneFlow: one model plays every role of a workflow inside one conversation.

"Rethinking the Value of Multi-Agent Workflow: A Strong Single Agent Baseline", 2026. The baseline
for any team of one model: the roles read the same text as separate agents would, but text that one
role has read is not read again by the next.
"""

from __future__ import annotations

from typing import Annotated, Any

from palestra import Decision, InvalidOption, Meta, Turn, agent
from palestra.agents.models import Message
from palestra.quoting import quote

from palestra_adapters.adapter import Adapter, game_text, rules_of, said_in, story
from palestra_adapters.react import can_hold
from palestra_adapters.thinking import Thinking

ROLES = {
    "analyst": "Say what matters in the position.",
    "planner": "Say what to aim for, and the moves that lead there.",
    "critic": "Say what is wrong with what was said so far.",
    "player": "Decide. Answer with the move only.",
}


@agent(
    "oneflow",
    kind="llm",
    summary="All roles of a workflow in one conversation.",
    paper="Rethinking the Value of Multi-Agent Workflow: A Strong Single Agent Baseline (2026)",
)
class OneFlow(Adapter):
    """The roles in order, each a turn of one conversation; the last one moves.

    roles: any names joined by `+`; analyst, planner, critic and player have instructions of their
    own. separate=true gives every role a separate conversation with the same text, which is the
    usual workflow.
    """

    def __init__(
        self,
        *,
        roles: Annotated[
            str, Meta(description="roles joined by +; the last one moves")
        ] = "analyst+critic+player",
        separate: Annotated[
            bool, Meta(description="give every role a conversation of its own")
        ] = False,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self._roles = [role.strip() for role in roles.split("+")]
        if not all(self._roles):
            raise InvalidOption(f"roles must be names joined by +, not {roles!r}")
        self._separate = separate

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        rules = rules_of(turn, advice)
        said: list[tuple[str, str]] = []
        for number, role in enumerate(self._roles):
            last = number == len(self._roles) - 1
            asked = self._instruction(role, last)
            messages = self._messages(rules, story(turn), said, asked)
            held = last and can_hold(self)
            (reply,) = yield [self.move(turn, messages) if held else self.ask(messages)]
            text = said_in(reply)
            said.append((asked, text))
        decision = self.decide(turn, reply)
        decision.text = game_text(turn, said[-1][1])
        decision.thought = "\n".join(
            f"{role}: {text}" for role, (_, text) in zip(self._roles[:-1], said, strict=False)
        )
        return decision

    def _instruction(self, role: str, last: bool) -> str:
        task = ROLES["player"] if last else ROLES.get(role, "Add what you know about it.")
        return f"[{role}] You are the {role}. {task}"

    def _messages(
        self, rules: str, position: str, said: list[tuple[str, str]], asked: str
    ) -> list[Message]:
        """The text a role reads: as turns of one conversation, or as one question."""
        system = self.style.rules_message(rules, "")
        if self._separate:  # what another role wrote is quoted; here it is the model's own reply
            others = [line for task, text in said for line in (task, quote(text))]
            lines = [position, *others, asked]
            return [system, self.style.question("\n".join(lines))]
        lines = [position, *(line for pair in said for line in pair), asked]
        first, rest = "\n".join(lines[:2]), lines[2:]
        messages = [system, self.style.question(first)]
        for number, line in enumerate(rest):
            messages.append(self.style.question(line) if number % 2 else self.style.move(line))
        return messages
