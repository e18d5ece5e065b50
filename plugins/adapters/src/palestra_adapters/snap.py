"""ReAct that also collects evidence: the turns that prove its task done.

"SmartSnap: Proactive Evidence Seeking for Self-Verifying Agents", 2026. With its move the model
names the turns whose observations prove the task done, as few as suffice; a judge then sees only
those. The wording is this package's own.
"""

from __future__ import annotations

import re
from typing import Any

from palestra import Decision, Turn, agent

from palestra_adapters.adapter import Adapter, game_text, question, split_thought
from palestra_adapters.react import ACTION, read_steps
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

FORM = (
    "Answer every question in this form:\n"
    "Thought: what matters, briefly\n"
    "Evidence: numbers of the turns that together prove the task done, or nothing\n"
    "Action: your move"
)
_EVIDENCE = re.compile(r"^Evidence:(.*)$", re.MULTILINE)


@agent("snap", kind="llm", summary="ReAct that collects the proof of what it did.")
class Snap(Adapter):
    """ReAct that names the turns that prove its task done, possibly including the current one.

    The turns it named last are its evidence, reported as the fact `evidence`: indices of its own
    turns from 0. The model sees them numbered from 1.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._turns = self.by_seat(int)
        self._named = self.by_seat(list[int])

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        key = turn.episode_key, turn.seat
        if not turn.error:
            self._turns[key] = self._turns.get(key, 0) + 1
        talk = self.talk(turn, advice, answer=FORM)
        talk.ask(f"Turn {self._turns[key]}.\n{question(turn)}")
        (reply,) = yield [self.ask(talk.messages, talk=talk)]
        apart, said = split_thought(reply)
        thought, move = read_steps(said)
        found = _EVIDENCE.search(thought)
        if found:
            numbers = dict.fromkeys(map(int, re.findall(r"\d{1,9}", found.group(1))))
            self._named[key] = [n - 1 for n in numbers if 1 <= n <= self._turns[key]]
            thought = (thought[: found.start()] + thought[found.end() :]).strip()
        move = game_text(turn, move)
        talk.answer(f"{said.rpartition(ACTION)[0].strip()}\n{ACTION} {move}".strip())
        decision = self.decide(turn, reply)
        decision.text, decision.thought = move, join_lines(apart, thought)
        decision.facts = {**decision.facts, "evidence": list(self._named.get(key, ()))}
        return decision
