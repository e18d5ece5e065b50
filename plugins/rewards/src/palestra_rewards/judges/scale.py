"""What is asked of a judge: a question with levels, two texts, a list of questions."""

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
    """A question and its answers, from worst to best; these words are all that a judge says."""

    question: str
    levels: tuple[str, ...] = ("bad", "good")

    def __post_init__(self) -> None:
        if len(set(self.levels)) != len(self.levels) or len(self.levels) < 2:
            raise InvalidOption(f"a scale has two different levels or more, not {self.levels}")

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
    """A level, its score from 0 to 1, the share of judges who said so, and the reason if given."""

    level: str
    score: float
    agreement: float = 1.0
    reason: str = ""


def grade(judge: Judge, scale: Scale, texts: Sequence[str]) -> list[Judgement]:
    """One judgement a text, all asked at once."""
    levels = judge.ask([scale.request(text) for text in texts])
    return [Judgement(level, scale.score(level)) for level in levels]


def prefer(
    judge: Judge, question: str, pairs: Sequence[tuple[str, str]], *, principles: bool = False
) -> list[float]:
    """Chance that the first text of each pair is the better one: 1, 0, or 1/2 for "it depends".

    Each pair is put in both orders, and a judge who goes by the place rather than the text says
    1/2. With `principles` the judge first writes down what matters here, then decides by it, as
    WebArbiter's does.
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
    """Places of the texts, best first, by the `arena` estimator's tournament of that form."""
    if form not in FORMS:
        raise InvalidOption(f"form must be one of {', '.join(FORMS)}, not {form!r}")

    def better(i: int, j: int) -> float:
        return prefer(judge, question, [(texts[i], texts[j])], principles=principles)[0]

    return FORMS[form](range(len(texts)), Matches(better)) if texts else []


class Answer(NamedTuple):
    """Yes or no to a question about a text, and the words of the text it rests on."""

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
