"""A turn as a generator of questions, for runs that await every answer by itself."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from palestra.agents.models import PartialReplies
from palestra.kernel.errors import ModelError


class Answerer(Protocol):
    """What answers questions, such as a model.

    concurrency: in how many threads at a time `chat` may be called. With 1, a call has all the
    questions that wait; with more, each has one, so that a slow answer holds up no other. An
    attribute `together`, if there is one, says which of the two.
    """

    @property
    def concurrency(self) -> int: ...

    def chat(self, requests: Sequence[Any]) -> Sequence[Any]:
        """An answer, or the exception in its place, to each question, in order."""


class Question(NamedTuple):
    """A question, and who answers it: a `Request` and a model, for example."""

    to: Answerer
    asked: Any


Asking = Generator[Sequence[Question], Sequence[Any], Any]
"""Yields questions, receives their answers, and returns a `Decision`.

The exception of a question without an answer is raised where the question was yielded.
"""


def deliberate_together(lines: Sequence[Asking]) -> list[Any]:
    """What each generator returns, or the exception that it raises, in order.

    Whoever is asked is called once a round, with the questions of all of them. What such a call
    raises, but for `PartialReplies`, ends all of them and is raised here.
    """
    found: list[Any] = [None] * len(lines)
    answers: dict[int, Any] = dict.fromkeys(range(len(lines)))
    while answers:
        asked: dict[int, Sequence[Question]] = {}
        for number, heard in answers.items():
            try:
                asked[number] = go_on(lines[number], heard)
            except StopIteration as end:
                found[number] = end.value
            except Exception as error:
                found[number] = error
        answers = _answers(lines, asked)
    return found


def go_on(line: Asking, heard: Sequence[Any] | None) -> Sequence[Question]:
    """What a generator asks next, once it has heard its answers; None is heard at first.

    Raises what the generator raises, and `StopIteration` with its decision.
    """
    for one in heard or ():
        if isinstance(one, Exception):
            return line.throw(one)
    return line.send(heard)  # type: ignore[arg-type]


def answers_of(to: Answerer, asked: Sequence[Any]) -> Sequence[Any]:
    """An answer to each question, or the exception in its place.

    Raises what `chat` raises but for `PartialReplies`, and `ModelError` for a wrong number.
    """
    try:
        found = to.chat(asked)
    except PartialReplies as some:
        found = some.replies
    if len(found) != len(asked):
        raise ModelError(f"{len(found)} replies to {len(asked)} requests")
    return found


def _answers(
    lines: Sequence[Asking], asked: Mapping[int, Sequence[Question]]
) -> dict[int, list[Any]]:
    """The answers to the questions of each line."""
    found: dict[int, list[Any]] = {n: [None] * len(questions) for n, questions in asked.items()}
    to_each: dict[Answerer, list[tuple[int, int]]] = {}
    for number, questions in asked.items():
        for place, question in enumerate(questions):
            to_each.setdefault(question.to, []).append((number, place))
    for to, places in to_each.items():
        try:
            said = answers_of(to, [asked[number][place].asked for number, place in places])
        except BaseException:
            for number in asked:
                lines[number].close()
            raise
        for (number, place), answer in zip(places, said, strict=True):
            found[number][place] = answer
    return found
