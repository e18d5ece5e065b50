"""Models that do not think, for tests and for a first try of the plumbing.

`echo:` replies with the first choice it is given, or repeats the last message's last word;
`echo:some text` always says that.
"""

from __future__ import annotations

from collections.abc import Sequence

from palestra.budget import Usage
from palestra.models import Model, Reply, Request


class EchoModel(Model):
    """Counts words as tokens, so that accounting can be tested without a tokenizer."""

    def __init__(self, line: str = "") -> None:
        self.name = f"echo:{line}"
        self._line = line

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
        return Reply(text, usage, logprob=0.0, model=self.name)
