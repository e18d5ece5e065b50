"""Themis: a judge that may call tools before it scores, and explains its score.

Li et al., "Tool-Augmented Reward Modeling", ICLR 2024. This module has the loop of thoughts, tool
calls and observations that ends in a rationale and a score; its tools run on this machine.
Training a reward model on such traces is left to a trainer.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Annotated, Any

import numpy as np
from palestra import EpisodeRecord, InvalidAction, InvalidOption, Meta, reward
from palestra.agents.models import Message, Request
from palestra.sandbox import Limits, run_program

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.turns import at_last
from palestra_rewards.judges.service import Judge, open_judge
from palestra_rewards.judges.showing import as_text

CALL = re.compile(r"^Action:\s*(\w+)\s*\[(.*)\]\s*$", re.MULTILINE | re.DOTALL)
SCORE = re.compile(r"^Score:\s*(\d{1,9}(?:\.\d+)?)\s*$", re.MULTILINE)
LONGEST = 2_000  # characters of an observation
ORDER = """You score how well a task was done, from 0 (not at all) to {top} (perfectly). Check \
what can be checked with tools before you score; do not trust a number, a date or a claim that a \
tool can check.

Tools:
{tools}

Write one step at a time. A step that calls a tool is
Thought: what you want to know, and why
Action: tool[input]
and you are then shown its Observation. The last step is
Thought: what the observations show
Rationale: why the score is what it is, in a sentence or two
Score: a number from 0 to {top}
You may call tools {most} times."""
FORM = "That is no step. Write either an Action: tool[input] or a Rationale: and a Score:."
NO_MORE = "You have no calls left. Write a Thought:, a Rationale: and a Score:."


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool for a judge: `run` takes the input and returns the text that the judge is shown.

    An input it cannot take raises `InvalidOption`; the judge is shown the message.
    """

    about: str
    run: Callable[[str], str]


@dataclass(slots=True)
class Verdict:
    """A score from 0 to 1, or None if the judge gave none in the required form, and its reasons.

    `trace` has each step and each observation, `calls` the names of the tools called.
    """

    score: float | None = None
    rationale: str = ""
    trace: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)


# Tools

_OPERATORS: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def calculate(text: str) -> str:
    """The value of an arithmetic expression with + - * / // % ** and brackets, as text."""
    try:
        return f"{_value(ast.parse(text.strip(), mode='eval').body):.12g}"
    except (SyntaxError, ValueError, TypeError, ArithmeticError) as error:
        raise InvalidOption(f"that is no sum such as (3 + 4) * 2: {error}") from error
    except (RecursionError, MemoryError) as error:  # of the parser
        raise InvalidOption("that sum is nested too deeply; ask for parts of it") from error


def _value(node: Any) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return float(_value(node.left) ** _value(node.right))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_value(node.left), _value(node.right)))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return float(_OPERATORS[type(node.op)](_value(node.operand)))
    raise ValueError("only numbers, + - * / // % ** and brackets are read")


def calendar(text: str) -> str:
    """The weekday of `YYYY-MM-DD`, the days for `DATE to DATE`, or the date for `DATE + n`."""
    found = re.fullmatch(
        r"\s*(\d{4}-\d\d-\d\d)\s*(?:(to)\s*(\d{4}-\d\d-\d\d)|([+-])\s*(\d{1,6}))?\s*", text
    )
    try:
        if found is None:
            raise ValueError("that is neither of the three")
        first = date.fromisoformat(found[1])
        if found[2]:
            return f"{(date.fromisoformat(found[3]) - first).days} days"
        if found[4]:
            shifted = first + timedelta(days=int(found[4] + found[5]))
            return f"{shifted.isoformat()}, a {shifted:%A}"
        return f"{first:%A}"
    except (ValueError, OverflowError) as error:
        raise InvalidOption(
            f"write 2024-02-28, 2024-02-28 to 2024-03-01, or 2024-02-28 + 2: {error}"
        ) from error


def program(text: str) -> str:
    """What a Python program prints, run in the sandbox."""
    try:
        ran = run_program(text, limits=Limits(seconds=5))
    except InvalidAction as refused:
        raise InvalidOption(str(refused)) from refused
    return "\n".join(filter(None, (ran.printed.strip(), ran.error))) or "(nothing was printed)"


class Library:
    """Search over texts; those that share most of the query's rare words come first."""

    def __init__(self, texts: Sequence[str], *, shown: int = 2) -> None:
        self._texts, self._shown = list(texts), shown
        self._words = [set(re.findall(r"\w+", text.lower())) for text in texts]

    def __call__(self, query: str) -> str:
        rarity = {
            word: np.log(len(self._texts) / count)
            for word in set(re.findall(r"\w+", query.lower()))
            if (count := sum(word in own for own in self._words))
        }
        scores = [sum(rarity.get(w, 0.0) + 1e-9 for w in own & set(rarity)) for own in self._words]
        best = sorted(range(len(scores)), key=lambda place: -scores[place])[: self._shown]
        return "\n".join(self._texts[place] for place in best if scores[place]) or "nothing found"


TOOLS: Mapping[str, Tool] = {
    "calculator": Tool("the value of a sum, as in calculator[(3 + 4) * 2]", calculate),
    "calendar": Tool(
        "the weekday of a date, the days between two, a date so many days later, as in "
        "calendar[2024-02-28 to 2024-03-01]",
        calendar,
    ),
    "python": Tool("what a Python program prints, as in python[print(2 ** 10)]", program),
}


def search(texts: Sequence[str], *, shown: int = 2) -> Tool:
    """A tool that searches these texts."""
    return Tool(
        "the passages that fit words best, as in search[capital of France]",
        Library(texts, shown=shown),
    )


# The judge


class ToolJudge:
    """Scores texts after up to `most` tool calls each; requests for all texts are batched.

    tools: by name, by default a calculator, a calendar and Python. After `patience` steps in a row
    without a call or a score the judge is not asked again, and the score is None.
    """

    def __init__(
        self,
        judge: Judge | str,
        tools: Mapping[str, Tool] = TOOLS,
        *,
        most: int = 4,
        top: int = 10,
        patience: int = 2,
        max_tokens: int = 256,
    ) -> None:
        if most < 0 or top < 1 or patience < 1:
            raise InvalidOption("most must be 0 or more, and top and patience 1 or more")
        self.judge, self.tools = open_judge(judge), dict(tools)
        self.most, self.top, self.patience, self._tokens = most, top, patience, max_tokens
        listed = "\n".join(f"- {name}: {tool.about}" for name, tool in self.tools.items())
        self._order = ORDER.format(top=top, tools=listed or "(none)", most=most)

    def score(self, texts: Sequence[str]) -> list[Verdict]:
        """One verdict per text."""
        verdicts = [Verdict() for _ in texts]
        talks = [[Message("user", f"{self._order}\n\n{text}")] for text in texts]
        wrong = [0] * len(texts)
        open_ = list(range(len(texts)))
        while open_:
            asked = [
                Request(tuple(talks[n]), max_tokens=self._tokens, stop=("\nObservation:",))
                for n in open_
            ]
            for number, reply in zip(list(open_), self.judge.ask(asked), strict=True):
                verdict, said = verdicts[number], reply.strip()
                verdict.trace.append(said)
                next_ = self._next(verdict, said)
                if verdict.score is not None:
                    open_.remove(number)
                    continue
                wrong[number] = wrong[number] + 1 if next_ in (FORM, NO_MORE) else 0
                if wrong[number] >= self.patience:
                    open_.remove(number)
                    continue
                verdict.trace.append(next_)
                talks[number] += Message("assistant", said), Message("user", next_)
        return verdicts

    def _next(self, verdict: Verdict, said: str) -> str:
        """The reply to a step; a step with a score sets the verdict's score."""
        call, score = CALL.search(said), SCORE.search(said)
        if score is not None and (call is None or score.start() < call.start()):
            if float(score[1]) <= self.top and "Rationale:" in said:
                verdict.score = float(score[1]) / self.top
                verdict.rationale = said[: score.start()].rpartition("Rationale:")[2].strip()
            return FORM
        if call is None:
            return FORM
        if len(verdict.calls) >= self.most:
            return NO_MORE
        name, given = call[1], call[2]
        if name not in self.tools:
            known = ", ".join(self.tools)
            return f"Observation: there is no tool {name}; there are {known}."
        verdict.calls.append(name)
        try:
            found = self.tools[name].run(given)
        except InvalidOption as error:
            found = f"error: {error}"
        return f"Observation: {found[:LONGEST]}"


@reward(
    "themis",
    shape="episode",
    needs=("model judge",),
    paper="Tool-Augmented Reward Modeling (2024)",
    check="test_a_judge_with_tools_finds_what_one_without_cannot",
    cost="one judgement per tool call, plus one",
)
def themis(
    record: EpisodeRecord,
    *,
    judge: Annotated[
        ToolJudge | Judge | str, Meta(description="a judge that may use tools, or a model")
    ],
    most: Annotated[int, Meta(ge=0, description="tool calls before the score")] = 4,
) -> Floats:
    """The score of a judge that checks the episode with tools first, on each seat's last turn.

    From 0 to 1, and 0 if the judge gave no score in the required form. Pass a `ToolJudge` for other
    tools, such as `judges.tools.search(texts)`; its `score` also returns the trace. Li et al.,
    "Tool-Augmented Reward Modeling" (2024).
    """
    with_tools = judge if isinstance(judge, ToolJudge) else ToolJudge(judge, most=most)
    (verdict,) = with_tools.score([as_text(record)])
    return at_last(record, lambda _: verdict.score or 0.0)


def tool_accuracy(judge: ToolJudge, pairs: Sequence[tuple[str, str]]) -> float:
    """Share of (better, worse) pairs that the judge scores in this order; a tie counts half."""
    if not pairs:
        raise InvalidOption("tool_accuracy needs one pair or more; there are none")
    verdicts = judge.score([text for pair in pairs for text in pair])
    scores = [-1.0 if one.score is None else one.score for one in verdicts]
    right = [(a > b) + (a == b) / 2 for a, b in zip(scores[::2], scores[1::2], strict=True)]
    return float(np.mean(right))
