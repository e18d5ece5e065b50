"""Omits thoughts and old observations that no longer help from the prompt.

"Agent-Omit: Training Efficient LLM Agents for Adaptive Thought and Observation Omission via Agentic
Reinforcement Learning", 2026. The model may leave its thought empty, and may write `Omit: 3` to
drop what it was shown in its third turn. Only the prompt gets shorter; the environment and the
record do not change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from palestra import Decision, Turn, agent
from palestra.agents.models import Message

from palestra_adapters.adapter import Adapter, game_text, question, rules_of, split_thought
from palestra_adapters.react import ACTION, read_steps
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

FORM = (
    "Answer every question in this form:\n"
    "Thought: what matters, or nothing where the move is plain\n"
    "Omit: numbers of turns whose text you no longer need, or nothing\n"
    "Action: your move"
)
GONE = "(left out)"
_OMIT = re.compile(r"^Omit:(.*)$", re.MULTILINE)


@dataclass(slots=True)
class Exchange:
    """One turn: what was asked, what was answered, and whether the question is left out."""

    asked: str
    said: str
    gone: bool = False


@dataclass(slots=True)
class Context:
    """The parts of a seat's prompt."""

    rules: Message
    exchanges: list[Exchange] = field(default_factory=list)

    def omit(self, numbers: set[int]) -> None:
        """Leave out the questions of these turns, counted from 1; unknown numbers are ignored."""
        for number in numbers:
            if 1 <= number <= len(self.exchanges):
                self.exchanges[number - 1].gone = True


@agent(
    "omit",
    kind="llm",
    summary="ReAct that leaves out what no longer helps.",
    paper=(
        "Agent-Omit: Training Efficient LLM Agents for Adaptive Thought and Observation "
        "Omission via Agentic Reinforcement Learning"
    ),
)
class Omit(Adapter):
    """ReAct that may leave out its thought, and what it was told in earlier turns.

    `saved` is the number of characters left out of prompts over the agent's lifetime. The fact
    `full tokens` estimates the tokens of the whole prompt: the tokens read, times the characters of
    the whole prompt divided by those shown.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._contexts = self.by_seat(Context)
        self.saved = 0

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        context = self._context(turn, advice)
        asked = f"Turn {len(context.exchanges) + 1}.\n{question(turn)}"
        messages = self._messages(context, asked)
        full = self._messages(context, asked, everything=True)
        whole, shown = (sum(len(m.content) for m in text) for text in (full, messages))
        self.saved += whole - shown
        (reply,) = yield [self.ask(messages)]
        apart, said = split_thought(reply)
        thought, move = read_steps(said)
        found = _OMIT.search(thought)
        if found:
            context.omit(set(map(int, re.findall(r"\d{1,9}", found.group(1)))))
            thought = (thought[: found.start()] + thought[found.end() :]).strip()
        move = game_text(turn, move)
        said = f"Thought: {thought}\n{ACTION} {move}" if thought else f"{ACTION} {move}"
        context.exchanges.append(Exchange(asked, said))
        decision = self.decide(turn, reply)
        decision.text, decision.thought = move, join_lines(apart, thought)
        if reply.usage.tokens_in:
            tokens = round(reply.usage.tokens_in * whole / shown)
            decision.facts = {**decision.facts, "full tokens": tokens}
        return decision

    def _context(self, turn: Turn, advice: str) -> Context:
        key = turn.episode_key, turn.seat
        if key not in self._contexts:
            rules = rules_of(turn, advice)
            self._contexts[key] = Context(self.style.rules_message(rules, FORM))
        return self._contexts[key]

    def _messages(self, context: Context, asked: str, *, everything: bool = False) -> list[Message]:
        messages = [context.rules]
        for number, one in enumerate(context.exchanges, 1):
            shown = one.asked if everything or not one.gone else f"Turn {number}. {GONE}"
            messages += [self.style.question(shown), self.style.move(one.said)]
        return [*messages, self.style.question(asked)]
