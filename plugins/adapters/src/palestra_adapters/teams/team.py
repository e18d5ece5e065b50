"""What teams share: members, their answers, counting votes, and a token limit per decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from palestra import Decision, InvalidOption, Turn
from palestra.agents.models import Message, Reply
from palestra.quoting import disarm, quote

from palestra_adapters.adapter import Adapter, legal_move, rules_of, story
from palestra_adapters.react import FORM, can_hold, reason
from palestra_adapters.texts import join_lines
from palestra_adapters.thinking import Thinking

HEAT = 0.8  # members of one model differ only by sampling


class Answer(NamedTuple):
    """What one member would play and why; `move` is None if it is not legal.

    `asked` is the prompt that it answers.
    """

    member: int
    move: str | None
    reason: str = ""
    reply: Reply | None = None
    asked: tuple[Message, ...] = ()

    def __str__(self) -> str:
        return f"Member {self.member + 1}: {self.reason}\nAction: {self.move or 'none'}"


class Team(Adapter):
    """`size` members; several models joined by `+` are assigned to members in turn."""

    def __init__(self, *, size: int = 3, **settings: Any) -> None:
        if size < 1:
            raise InvalidOption(f"size must be 1 or more, not {size}")
        settings.setdefault("temperature", HEAT if size > 1 else 0.0)
        super().__init__(**settings)
        self.size = size

    def answer(
        self, turn: Turn, member: int, context: str = "", role: str = ""
    ) -> Thinking[Answer]:
        """A member's thought and move, given `context` after the episode so far."""
        number = member % len(self.models)
        rules = rules_of(turn, role)
        asked = join_lines(story(turn), context)
        messages = self.single(rules, asked, answer=FORM)
        step = yield from reason(self, turn, messages, held=can_hold(self, number), member=number)
        move = legal_move(turn, step.move)
        return Answer(member, move, step.thought, step.reply, tuple(messages))

    def agreed(self, turn: Turn, answers: Sequence[Answer], move: str | None = None) -> Decision:
        """The decision for `move`, or else for the majority of the answers."""
        chosen = move if move is not None else majority([answer.move for answer in answers])
        said = "\n".join(map(str, answers))
        if chosen is None:
            refused = [a.reply.text.strip() for a in answers if a.reply is not None]
            return Decision(text=refused[0] if refused else "", thought=said)
        return Decision(text=chosen, thought=said, facts=vote_facts(answers, chosen))


def vote_facts(answers: Sequence[Answer], chosen: str) -> dict[str, Any]:
    """The facts `candidates`, every move with its share of the answers, and `confidence`."""
    counts = Counter(answer.move for answer in answers if answer.move is not None)
    shares = {move: count / len(answers) for move, count in counts.items()}
    return {"candidates": shares, "confidence": shares.get(chosen, 0.0)}


def majority(votes: Sequence[str | None]) -> str | None:
    """The vote with the most supporters; ties go to the first cast. None is no vote."""
    counts = Counter(vote for vote in votes if vote is not None)
    return counts.most_common(1)[0][0] if counts else None


def agree(answers: Sequence[Answer]) -> bool:
    """Whether all answers name one legal move."""
    moves = {answer.move for answer in answers}
    return len(moves) == 1 and None not in moves


def quote_answers(answers: Sequence[Answer]) -> str:
    """Answers as text for a member, quoted so that none can write another's."""
    return "\n".join(["What the members have answered:", *map(_quote_answer, answers)])


def _quote_answer(answer: Answer) -> str:
    said = f" {quote(answer.reason)}" if answer.reason else ""
    return f"Member {answer.member + 1}:{said}\nAction: {disarm(answer.move or 'none')}"


@dataclass(slots=True)
class Purse:
    """Token limit of one decision; a new round starts only if one like the last still fits."""

    limit: float
    spent: int = 0
    last: int = 0

    def spend(self, tokens: int) -> None:
        self.spent += tokens
        self.last = tokens

    @property
    def lasts(self) -> bool:
        return self.spent + self.last <= self.limit


def charge(part: Thinking[Any], purse: Purse) -> Thinking[Any]:
    """A line of thought whose tokens are charged to a purse as one round."""
    tokens = 0
    try:
        asks = next(part)
        while True:
            replies = yield asks
            tokens += sum(reply.usage.tokens for reply in replies)
            asks = part.send(replies)
    except StopIteration as end:
        purse.spend(tokens)
        return end.value
