"""The conversation of one seat with its model; messages are only appended.

Every prompt starts with the previous one, so that a prefix cache keeps working. Only when the
model's context is full are the oldest exchanges dropped, and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import NamedTuple

from palestra.agents.models import Message, Reply, Tokens, ToolCall
from palestra.phrasing.wording import ANSWER

RAW_END = "\n\n"  # what follows a move in a raw text
THINK = (  # the form of replies in which a thought comes before the move
    "Answer every question in two lines:\n"
    "Thought: what matters in the position, briefly\n"
    "Action: your move"
)
NOT_PLAYED = "Not played."  # the answer to all but the last call of several


class Example(NamedTuple):
    """A question in the environment's own words and the move that was played."""

    question: str
    move: str


class Chat:
    """How rules, questions and moves become messages: turns in the model's chat template."""

    raw = False
    stop: tuple[str, ...] = ()

    def rules_message(self, text: str, answer: str = ANSWER) -> Message:
        """The first message; `answer` says what replies are to look like."""
        return Message("system", f"{text}\n{answer}" if answer else text)

    def form(self, answer: str) -> str:
        """What this style says of replies to moves, where the game is worded to say `answer`."""
        return answer

    def question(self, text: str) -> Message:
        return Message("user", text)

    def move(self, text: str) -> Message:
        return Message("assistant", text)

    def reply(self, text: str) -> str:
        """A move in the form in which the model should write it."""
        return text


class Raw(Chat):
    """One text to be continued, for base models and for small ones, which follow examples."""

    raw = True
    stop = ("\n",)

    def rules_message(self, text: str, answer: str = "") -> Message:
        return Message("system", f"{text}\n{answer}\n" if answer else f"{text}\n\n")

    def form(self, answer: str) -> str:
        return ""  # the text is continued with a move

    def question(self, text: str) -> Message:
        return Message("user", f"{text}\nMove:")

    def move(self, text: str) -> Message:
        return Message("assistant", f" {text.strip()}{RAW_END}")

    def reply(self, text: str) -> str:
        return f" {text}"


STYLES: dict[str, type[Chat]] = {"chat": Chat, "raw": Raw}


class Conversation:
    """The messages of one seat: rules (if any) and examples, which stay; questions and moves."""

    def __init__(
        self, style: Chat, rules: str, examples: Sequence[Example] = (), **answer: str
    ) -> None:
        self._style = style
        self.messages = [style.rules_message(rules, **answer)] if rules else []
        for question, move in examples:
            self.messages += style.question(question), style.move(move)
        self._fixed = len(self.messages)
        self._open = 0  # messages of the open question
        self.dropped = 0
        self._gone = 0  # number of characters dropped
        self.read: tuple[int, ...] = ()  # exact tokens up to the last reply, where kept
        self._known = 0  # messages that those stand for

    def ask(self, question: str) -> None:
        """Put a question, as the answer to the last reply's call of a tool if there is one."""
        asked = [self._style.question(question)]
        if self.messages and (calls := self.messages[-1].calls):
            texts = [NOT_PLAYED] * (len(calls) - 1) + [asked[0].content]
            pairs = zip(calls, texts, strict=True)
            asked = [Message("tool", text, answers=call.id) for call, text in pairs]
        self.messages += asked
        self._open = len(asked)

    def take_back(self) -> None:
        """Forget the open question: it was never answered."""
        if self._open:
            del self.messages[-self._open :]
            self._open = 0

    @property
    def new(self) -> int:
        """How many messages are not included in `read`."""
        return len(self.messages) - self._known

    def answer(
        self, move: str, tokens: Tokens | None = None, calls: Sequence[ToolCall] = ()
    ) -> None:
        """Add a reply, with the exact tokens of the exchange if the next one is to follow them.

        calls: the tools that it calls. `move` is then what it says beside them.
        """
        said = Message("assistant", move, tuple(calls)) if calls else self._style.move(move)
        self.messages.append(said)
        self._open = 0
        if tokens is not None:
            self.read, self._known = (*tokens.prompt, *tokens.reply), len(self.messages)

    def shorten(self) -> bool:
        """Drop the older half of the exchanges; False if only the open question is left."""
        said = self.messages[self._fixed :]
        ends = [place for place, message in enumerate(said, 1) if message.role == "assistant"]
        if not ends:
            return False
        going = ends[(len(ends) - 1) // 2]
        gone, left = said[:going], said[going:]
        self._gone += sum(len(message.content) for message in gone)
        self.messages[self._fixed :] = left
        self._open_with_a_question()
        self.read, self._known = (), 0  # what is left is a text of its own
        self.dropped += len(gone)
        return True

    def _open_with_a_question(self) -> None:
        """Put the first question as the user's if the call that it answers was dropped."""
        answers = 0
        while self.messages[self._fixed + answers].role == "tool":
            answers += 1
        if answers:
            last = self.messages[self._fixed + answers - 1]
            self.messages[self._fixed : self._fixed + answers] = [Message("user", last.content)]
            if len(self.messages) == self._fixed + 1:
                self._open = 1

    def full_tokens(self, read: int) -> dict[str, int]:
        """The fact `full tokens`: the length of the last reply's prompt had nothing been dropped.

        `read` tokens were read; the dropped text is assumed to have as many tokens per character.
        Empty if tokens are not counted.
        """
        if not read:
            return {}
        shown = sum(len(message.content) for message in self.messages[:-1])
        return {"full tokens": read + round(read * self._gone / max(shown, 1))}


def confidence(reply: Reply) -> dict[str, float]:
    """The fact `confidence`: the geometric mean of the probabilities of a reply's tokens.

    Empty if the model does not return them.
    """
    if reply.tokens is not None and reply.tokens.logprobs:
        mean = sum(reply.tokens.logprobs) / len(reply.tokens.logprobs)
    elif reply.logprob is not None and reply.usage.tokens_out:
        mean = reply.logprob / reply.usage.tokens_out
    else:
        return {}
    return {"confidence": exp(min(mean, 0.0))}
