"""Models without a network, for tests and for trying out the setup.

`echo:` replies with the first choice it is given, or repeats the last message's last word;
`echo:some text` always says that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from palestra.agents.budget import Usage
from palestra.agents.models import Ability, Model, Reply, Request, Score


class EchoModel(Model):
    """Counts words as tokens, so that accounting can be tested without a tokenizer."""

    abilities: ClassVar[frozenset[Ability]] = frozenset({"choices", "raw", "score"})

    def __init__(self, *, target: str = "") -> None:
        self.name = f"echo:{target}"
        self._line = target

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        words = sum(len(message.content.split()) for message in request.messages)
        text = self._line
        if not text and request.choices:
            text = request.choices[0]
        elif not text:
            text = (request.messages[-1].content.split() or [""])[-1]
        usage = Usage(tokens_in=words, tokens_out=len(text.split()), calls=1)
        scores = tuple(self._score(text) for text in request.score)
        return Reply(text, usage, logprob=0.0, model=self.name, scores=scores)

    def _score(self, text: str) -> Score:
        """The continuation it would say is certain; of the others, shorter ones are likelier."""
        words = max(1, len(text.split()))
        return Score(0.0 if text.strip() == self._line else -float(len(text)), words)
