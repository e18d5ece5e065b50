"""Requests to a judge: a grade on a scale, a comparison of two texts, a checklist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from palestra import InvalidOption
from palestra.agents.models import Request

from palestra_rewards.estimators.arena import FORMS, Matches
from palestra_rewards.judges.service import Judge, ask


@dataclass(frozen=True, slots=True)
class Scale:
    """A question and its possible answers, from worst to best; a judge answers with one of them."""

    question: str
    levels: tuple[str, ...] = ("bad", "good")

    def __post_init__(self) -> None:
        if len(set(self.levels)) != len(self.levels) or len(self.levels) < 2:
            raise InvalidOption(f"a scale needs two different levels or more, not {self.levels}")

    def request(self, text: str, note: str = "", **settings: float | int | None) -> Request:
        """The request to grade `text`; `note` is what else the judge should know."""
        shown = f"{text}\n\n{note}" if note else text
        return ask(
            f"{shown}\n\n{self.question}\nAnswer with one of: {', '.join(self.levels)}.",
            choices=self.levels,
            **settings,
        )

    def score(self, level: str) -> float:
        """0 for the worst level, 1 for the best."""
        return self.levels.index(level) / (len(self.levels) - 1)


class Judgement(NamedTuple):
    """A level, its score from 0 to 1, the share of judges that gave it, and the reason if given."""

    level: str
    score: float
    agreement: float = 1.0
    reason: str = ""


def grade(judge: Judge, scale: Scale, texts: Sequence[str]) -> list[Judgement]:
    """One judgement per text, all requested in one batch."""
    levels = judge.ask([scale.request(text) for text in texts])
    return [Judgement(level, scale.score(level)) for level in levels]


def prefer(
    judge: Judge, question: str, pairs: Sequence[tuple[str, str]], *, principles: bool = False
) -> list[float]:
    """Whether the first text of each pair is better: 1, 0, or 1/2 if the verdict depends on order.

    Each pair is shown in both orders, so that a judge that prefers a position gives
    1/2. With `principles` the judge first writes down principles and then decides by them, as
    WebArbiter's judge does.
    """
    both = [pair for a, b in pairs for pair in ((a, b), (b, a))]
    shown = [f"Candidate 1:\n{a}\n\nCandidate 2:\n{b}" for a, b in both]
    if principles:
        asked = [
            ask(f"{text}\n\n{question}\nFirst list the principles to decide by.", max_tokens=256)
            for text in shown
        ]
        rules = judge.ask(asked)
        shown = [f"{text}\n\nPrinciples:\n{rule}" for text, rule in zip(shown, rules, strict=True)]
    end = f"{question}\nAnswer with the number of the better candidate: 1 or 2."
    won = judge.ask([ask(f"{text}\n\n{end}", choices=("1", "2")) for text in shown])
    straight = [answer == "1" for answer in won]
    return [(a + (not b)) / 2 for a, b in zip(straight[::2], straight[1::2], strict=True)]


def tournament(
    judge: Judge,
    question: str,
    texts: Sequence[str],
    *,
    form: str = "seeded",
    principles: bool = False,
) -> list[int]:
    """Indices of the texts, best first, by the `arena` estimator's tournament of that form."""
    if form not in FORMS:
        raise InvalidOption(f"form must be one of {', '.join(FORMS)}, not {form!r}")

    def better(i: int, j: int) -> float:
        return prefer(judge, question, [(texts[i], texts[j])], principles=principles)[0]

    return FORMS[form](range(len(texts)), Matches(better)) if texts else []


class Answer(NamedTuple):
    """Yes or no to a question about a text, and the words of the text quoted as evidence."""

    yes: bool
    evidence: str


def check(judge: Judge, text: str, questions: Sequence[str]) -> list[Answer]:
    """Yes or no to each question, with cited evidence; a quote that is not in the text is dropped.

    Without evidence an answer counts as no.
    """
    end = (
        "Answer yes or no, then quote the words of the text that show it, between quotation marks."
    )
    replies = judge.ask([ask(f"{text}\n\n{one}\n{end}", max_tokens=128) for one in questions])
    return [_answer(reply, text) for reply in replies]


def _answer(reply: str, text: str) -> Answer:
    word, _, rest = reply.strip().partition(" ")
    quote = rest.strip().strip("\"'“”")
    cited = quote if quote and quote in text else ""
    return Answer(word.strip(".,:;").lower() == "yes" and bool(cited), cited)
