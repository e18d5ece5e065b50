"""Requests to one model, batched and cached, with their total cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from palestra import InvalidOption, Meta, ModelError, open_model
from palestra.agents.budget import Usage
from palestra.agents.models import Ability, Message, Model, PartialReplies, Reply, Request
from palestra.files import UNREADABLE, writable

Rule = Callable[[Request], str]


class RuleModel(Model):
    """A model that follows a rule: a function from a request to the text of a reply."""

    abilities: ClassVar[frozenset[Ability]] = frozenset({"choices"})

    def __init__(self, rule: Rule) -> None:
        self.name = f"rule:{getattr(rule, '__qualname__', type(rule).__name__)}"
        self._rule = rule

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [Reply(self._rule(r), Usage(calls=1), model=self.name) for r in requests]


class Judge:
    """A model that is asked for judgements.

    `model` is a URI of `palestra.open_model`, a `Model`, or a function from `Request` to text.
    Equal requests are asked once: within a call, between calls, and, with `cache` (a JSON-lines
    file), between runs. `usage` is the total spent; `asked` counts requests to the model, `found`
    those answered from the cache. `system` is the system message of every conversation.
    """

    def __init__(
        self, model: str | Model | Rule, *, cache: str | Path | None = None, system: str = ""
    ) -> None:
        if not isinstance(model, str | Model) and cache is not None:
            raise InvalidOption("a function's answers cannot be cached in a file; leave out cache")
        self.model = _model(model)
        self.system = system
        self.usage = Usage()
        self.asked = self.found = 0
        self._path = None if cache is None else Path(cache)
        self._known = _read(self._path)

    def ask(self, requests: Sequence[Request]) -> list[str]:
        """The replies' texts, in order.

        The reply to a request with `choices` is one of them. A model without constrained decoding
        replies freely; the last choice it names counts, or else the first choice.
        """
        keys = [self._key(request) for request in requests]
        fresh = {k: r for k, r in zip(keys, requests, strict=True) if k not in self._known}
        self.asked += len(fresh)
        self.found += len(requests) - len(fresh)
        if fresh:
            self._put_to_model(fresh)
        texts = (self._known[key] for key in keys)
        return [_last_choice(text, r.choices) for text, r in zip(texts, requests, strict=True)]

    def _put_to_model(self, fresh: Mapping[str, Request]) -> None:
        """Ask the model, and keep every answer that arrived even if others failed."""
        try:
            replies = self.model.chat([self._put(request) for request in fresh.values()])
        except PartialReplies as some:
            self._remember(list(fresh), some.replies)
            raise
        self._remember(list(fresh), replies)
        if any(reply.overflow for reply in replies):
            raise InvalidOption(
                f"the text to judge does not fit the context of {self.model.name}; show it fewer "
                "turns (as_text(record, last=…)) or open it with a longer context"
            )

    def _put(self, request: Request) -> Request:
        """The request in the form that this model supports."""
        before = (Message("system", self.system),) if self.system else ()
        choices = request.choices if "choices" in self.model.abilities else None
        return msgspec.structs.replace(request, messages=before + request.messages, choices=choices)

    def _key(self, request: Request) -> str:
        return sha256(msgspec.json.encode([self.model.name, self.system, request])).hexdigest()

    def _remember(self, keys: Sequence[str], replies: Sequence[Reply | ModelError]) -> None:
        """Store the answers that arrived, and add their usage."""
        answered = {k: r for k, r in zip(keys, replies, strict=True) if isinstance(r, Reply)}
        fits = {key: reply.text for key, reply in answered.items() if not reply.overflow}
        self.usage = sum((reply.usage for reply in answered.values()), self.usage)
        self._known |= fits
        if self._path is not None:
            _append(self._path, fits)


@lru_cache(maxsize=2)
def _by_uri(uri: str) -> Judge:
    return Judge(uri)


def open_judge(judge: Judge | str) -> Judge:
    """The judge itself, or one for a model's URI; the same URI gives the same judge."""
    return _by_uri(judge) if isinstance(judge, str) else judge


JudgeModel = Annotated[Judge | str, Meta(description="a model that judges, or its name")]


def _model(model: str | Model | Rule) -> Model:
    if isinstance(model, Model):
        return model
    if isinstance(model, str):
        opened: Model = open_model(model)
        return opened
    if not callable(model):
        raise InvalidOption(
            f"a judge is a model's URI, a Model or a function of a Request, not {model!r}"
        )
    return RuleModel(model)


def ask(text: str, **settings: Any) -> Request:
    """A request of one message."""
    return Request((Message("user", text),), **settings)


def _read(path: Path | None) -> dict[str, str]:
    """The answers in a cache, without a last line that a crash cut off."""
    if path is None or not path.exists():
        return {}
    lines = path.read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n") and b'["'.startswith(lines[-1][:2]):
        lines.pop()
    try:
        return dict(msgspec.json.decode(line, type=tuple[str, str]) for line in lines)
    except UNREADABLE as error:
        raise InvalidOption(f"{path} is not a cache of judgements; delete it: {error}") from error


def _append(path: Path, answers: Mapping[str, str]) -> None:
    """Add answers to a cache, in place of a last line that a crash cut off."""
    with writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            file.seek(max(0, file.tell() - 1))
            if file.read(1) not in (b"", b"\n"):
                file.seek(0)
                file.truncate(file.read().rfind(b"\n") + 1)
            file.write(b"".join(msgspec.json.encode(pair) + b"\n" for pair in answers.items()))


def _last_choice(text: str, choices: Sequence[str] | None) -> str:
    """The choice that a reply names last as a separate word; the first choice if it names none."""
    if choices is None or text in choices:
        return text
    last = {
        choice: max(
            (m.end() for m in re.finditer(rf"(?<!\w){re.escape(choice)}(?!\w)", text, re.I)),
            default=-1,
        )
        for choice in choices
    }
    return max(choices, key=lambda choice: last[choice])
