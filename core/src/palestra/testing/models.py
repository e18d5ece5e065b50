"""A language model for tests: its replies come from a function, and it keeps what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from palestra.agents.budget import Usage
from palestra.agents.models import Model, Reply, Request, Tokens
from palestra.kernel.rng import Rng


class ScriptedModel(Model):
    """Answers by a function of the request, or always with one text.

    If it is held to choices and the answer is none of them, the first choice is. A call counts
    each word read and written as a token, so that sums can be checked by hand. `requests` lists
    what it was asked, `calls` how many requests came at once.

    answer: the text, or a function that returns it. name: of the model, on records. held: whether
    it can be held to the legal moves; if not, it may answer anything. tokens: whether it returns
    exact tokens, one a character; `spoken` lists those that it has returned.
    """

    def __init__(
        self,
        answer: Callable[[Request], str] | str,
        name: str = "scripted",
        *,
        held: bool = True,
        tokens: bool = False,
    ) -> None:
        self.name = name
        self.abilities = frozenset(  # type: ignore[misc]
            (*(("choices", "raw") if held else ()), *(("tokens",) if tokens else ()))
        )
        self.spoken: list[Tokens] = []
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
        tokens = self._tokens(request, text) if request.tokens else None
        usage = Usage(read, len(text.split()), calls=1)
        return Reply(text, usage, model=self.name, tokens=tokens)

    def _tokens(self, request: Request, text: str) -> Tokens:
        new = request.messages[-request.new :] if request.read else request.messages
        prompt = (*request.read, *map(ord, "".join(message.content for message in new)))
        made = Tokens(prompt, tuple(map(ord, text)), (-0.5,) * len(text), finish="end")
        self.spoken.append(made)
        return made


def any_choice(request: Request) -> str:
    """A choice by the request's seed and length, whatever was asked; words where there is none."""
    asked = sum(len(message.content) for message in request.messages)
    if not request.choices:
        return f"Perhaps {asked}."
    return Rng.seeded(asked + (request.seed or 0)).choice(request.choices)
