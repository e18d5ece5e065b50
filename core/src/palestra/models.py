"""What a language model is to an agent: conversations in, replies out, many at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from palestra.budget import Usage


class Message(NamedTuple):
    """One line of a conversation; `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One conversation waiting for a reply.

    `choices`, where given, are the only replies allowed: a model that can constrain decoding
    must, one that cannot may ignore it. `max_tokens` bounds the reply, `seed` fixes sampling.
    """

    messages: tuple[Message, ...]
    choices: tuple[str, ...] | None = None
    max_tokens: int = 64
    temperature: float = 0.0
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said and what it took; `logprob` is natural, summed over the reply."""

    text: str
    usage: Usage = field(default_factory=Usage)
    logprob: float | None = None
    model: str = ""


class Model(ABC):
    """A language model, opened by `palestra.open_model(uri)` through a plugin."""

    name: str = ""

    @abstractmethod
    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """One reply for every request, in order; all of them in one call where it can."""

    def close(self) -> None:  # noqa: B027 - most models hold nothing
        """Free memory and connections."""
