"""A language model for tests: its replies come from a function, and it keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palestra.agents.budget import Usage
from palestra.agents.models import Model, Reply, Request
from palestra.kernel.rng import Rng


class ScriptedModel(Model):
    """Answers by a function of the request, or always with one text.

    If it is held to choices and the answer is none of them, the first choice is. A call counts
    each word read and written as a token, so that sums can be checked by hand. `requests` lists
    what it was asked, `calls` how many requests came at once.

    answer: the text, or a function that returns it. name: of the model, on records. held: whether
    it can be held to the legal moves; if not, it may answer anything.
    """

    def __init__(
        self, answer: Callable[[Request], str] | str, name: str = "scripted", *, held: bool = True
    ) -> None:
        self.name = name
        self.abilities = frozenset({"choices", "raw"} if held else ())  # type: ignore[misc]
        self.requests: list[Request] = []
        self.calls: list[int] = []
        self._answer = (lambda _: answer) if isinstance(answer, str) else answer

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.calls.append(len(requests))
        self.requests += requests
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        text = self._answer(request)
        if request.choices and text not in request.choices:
            text = request.choices[0]
        read = sum(len(message.content.split()) for message in request.messages)
        return Reply(text, Usage(read, len(text.split()), calls=1), model=self.name)


def any_choice(request: Request) -> str:
    """A choice by the request's seed and length, whatever was asked; words where there is none."""
    asked = sum(len(message.content) for message in request.messages)
    if not request.choices:
        return f"Perhaps {asked}."
    return Rng.seeded(asked + (request.seed or 0)).choice(request.choices)
