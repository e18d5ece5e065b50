"""The interface of a language model: conversations in, replies out, many at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import msgspec

from palestra.agents.budget import Usage
from palestra.kernel.errors import InvalidOption, ModelError

Ability = Literal["choices", "pattern", "score", "tokens", "raw", "adapter", "tools", "weights"]


class FunctionTool(msgspec.Struct, frozen=True, gc=False):
    """A function that a model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]

    def openai(self) -> dict[str, Any]:
        """An entry of `tools` in OpenAI's chat completions."""
        return {"type": "function", "function": msgspec.structs.asdict(self)}

    def anthropic(self) -> dict[str, Any]:
        """An entry of `tools` in Anthropic's messages."""
        about = {"name": self.name, "description": self.description}
        return {**about, "input_schema": self.parameters}

    def mcp(self) -> dict[str, Any]:
        """An entry of the answer to `tools/list` in the Model Context Protocol."""
        about = {"name": self.name, "description": self.description}
        return {**about, "inputSchema": self.parameters}


class ToolCall(msgspec.Struct, frozen=True, gc=False):
    """A model's call of a tool; `arguments` is JSON as the model wrote it, perhaps with errors."""

    name: str
    arguments: str
    id: str = ""


class Message(msgspec.Struct, frozen=True, gc=False):
    """One line of a conversation; `role` is "system", "user", "assistant" or "tool".

    `calls` are the tools that an assistant's message calls. A tool's message answers the call with
    the id `answers`.
    """

    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()
    answers: str = ""


class Request(msgspec.Struct, frozen=True, gc=False):
    """One conversation waiting for a reply.

    choices: the only replies allowed. pattern: a regular expression the whole reply must match.
    score: continuations to score; nothing is generated, and `Reply.scores` has one entry each. raw:
    the contents are joined unchanged, without a chat template. max_tokens bounds the reply, which
    ends before any of `stop`; `seed` fixes sampling. adapter names a LoRA folder. tokens: return
    the exact tokens with their log-probabilities. read: the exact tokens of this conversation so
    far, prompt and replies; only the last `new` messages are then tokenised and appended. special:
    special tokens that a message spells out are read as such, where the model has its tokenizer at
    hand; else they are escaped. tools: functions that the reply may call. A model supports what its
    `abilities` list; an agent must not ask it for more.
    """

    messages: tuple[Message, ...]
    choices: tuple[str, ...] | None = None
    pattern: str | None = None
    score: tuple[str, ...] = ()
    raw: bool = False
    max_tokens: int = 64
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    seed: int | None = None
    adapter: str | None = None
    tokens: bool = False
    read: tuple[int, ...] = ()
    new: int = 0
    special: bool = False
    tools: tuple[FunctionTool, ...] = ()


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """The exact tokens of one exchange, as the engine read and sampled them.

    `logprobs` has one natural log-probability per reply token. They are the model's own at
    temperature 1, before any constraint or sampling setting, unless `under` is "sampling": then
    they are those of the sampling distribution, temperature and constraint included. `finish` says
    why the reply ended: "end" (an end token, which is its last), "stop", "length" or "complete"
    (nothing else was allowed). `policy` is the version of the weights.
    """

    prompt: tuple[int, ...]
    reply: tuple[int, ...]
    logprobs: tuple[float, ...]
    under: Literal["model", "sampling"] = "model"
    finish: str = ""
    policy: str = ""


class Answered(Protocol):
    """A decision, or what a record holds of one."""

    tokens: Tokens | None
    earlier: tuple[Tokens, ...]


def exchanges(answer: Answered) -> tuple[Tokens, ...]:
    """The exact tokens of all replies that led to an answer, in order."""
    return (*answer.earlier, *(() if answer.tokens is None else (answer.tokens,)))


class Score(NamedTuple):
    """The natural log-probability of a continuation, summed over that many tokens."""

    logprob: float
    tokens: int

    @property
    def mean(self) -> float:
        return self.logprob / max(1, self.tokens)


class Reply(msgspec.Struct, frozen=True, gc=False):
    """A model's reply and its usage; `logprob` is natural, summed over the reply.

    `thought` is reasoning that a server returns separately from its answer. `calls` are the tools
    that the reply calls, in its order; `text` is what it says beside them. `overflow` says that
    the conversation and the reply do not fit the model's context: nothing was generated. `finish`
    is why the reply ended, where the server says so: "length" at max_tokens, "content_filter".
    """

    text: str
    usage: Usage = Usage()
    logprob: float | None = None
    model: str = ""
    thought: str = ""
    scores: tuple[Score, ...] = ()
    tokens: Tokens | None = None
    overflow: bool = False
    calls: tuple[ToolCall, ...] = ()
    finish: str = ""


class PartialReplies(ModelError):
    """Some requests of one call have no reply; the other replies are kept.

    `replies` has one entry per request, in order: a `Reply` or a `ModelError`.
    """

    def __init__(self, replies: Sequence[Reply | ModelError]) -> None:
        failed = [reply for reply in replies if isinstance(reply, ModelError)]
        super().__init__(f"{len(failed)} of {len(replies)} requests failed; the first: {failed[0]}")
        self.replies = list(replies)


class Model(ABC):
    """A language model, opened by `palestra.open_model(uri)` through a plugin.

    Raises `ModelError` if it cannot answer at all (the server is down, the key is wrong), and
    `PartialReplies` if it cannot answer some of many requests. `concurrency` is in how many threads
    at a time `chat` may be called, where every reply is awaited by itself.
    """

    name: str = ""
    concurrency: int = 1
    abilities: ClassVar[frozenset[Ability]] = frozenset()

    @abstractmethod
    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Return one reply for every request, in order; batched in one call if possible."""

    def take_weights(self, weights: Sequence[tuple[str, Any]]) -> None:
        """Answer with these weights from the next call on; for models with the ability "weights".

        weights: the names of transformers' `state_dict`, and tensors.
        """
        raise InvalidOption(f"{self.name} cannot take weights; open another model to train")

    def close(self) -> None:  # noqa: B027 - most models hold nothing
        """Free memory and connections."""
