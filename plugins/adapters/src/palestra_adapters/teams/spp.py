"""Solo Performance Prompting: one model, several personas of its own choice, one reply.

Wang et al., "Unleashing the Emergent Cognitive Synergy in Large Language Models: A Task-Solving
Agent through Multi-Persona Self-Collaboration", NAACL 2024.
"""

from __future__ import annotations

import re
from typing import Any

from palestra import Decision, Turn, agent

from palestra_adapters.adapter import Adapter, legal_move, rules_of, said_in, story
from palestra_adapters.react import can_hold
from palestra_adapters.thinking import Thinking

FORM = (
    "Answer in this form.\n"
    "Personas: two to four people whose knowledge helps here, yourself first\n"
    "Brainstorm: what each of them has to say, one line each\n"
    "Draft: the move you would make\n"
    "Critique: what each of them says about the draft, one line each\n"
    "Final: the move"
)
_FINAL = re.compile(r"^[^\w\n]*+final(?: answer)?[^\w:\n]*+:", re.IGNORECASE | re.MULTILINE)


@agent(
    "spp",
    kind="llm",
    summary="One model as several personas.",
    paper=(
        "Wang et al. (2023), Unleashing Cognitive Synergy in Large Language Models: A "
        "Task-Solving Agent through Multi-Persona Self-Collaboration"
    ),
)
class SoloPerformance(Adapter):
    """Personas, brainstorm, draft, critique, final; the move is in the last final block.

    If that is illegal and the model supports constrained replies, it is asked for the move again.
    """

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("max_tokens", 400)
        super().__init__(**settings)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        rules = rules_of(turn, advice)
        messages = self.single(rules, story(turn), answer=FORM)
        (reply,) = yield [self.ask(messages)]
        said = said_in(reply)
        final = read_final(said)
        move = legal_move(turn, final)
        if move is None and can_hold(self):
            asked = [*messages, self.style.move(said), self.style.question("Final:")]
            (reply,) = yield [self.move(turn, asked)]
            final = reply.text.strip()
            move = legal_move(turn, final)
        decision = self.decide(turn, reply)
        decision.text, decision.thought = final if move is None else move, said
        return decision


def read_final(text: str) -> str:
    """The text after the last `Final:`, or "" if there is none."""
    marks = list(_FINAL.finditer(text))
    return text[marks[-1].end() :].strip(" *\n") if marks else ""
