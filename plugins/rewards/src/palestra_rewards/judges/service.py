"""Questions to one model: in batches, each asked once, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from palestra import InvalidOption, open_model
from palestra.agents.budget import Usage
from palestra.agents.models import Ability, Message, Model, Reply, Request

Rule = Callable[[Request], str]


class RuleModel(Model):
    """A judge's stand-in that follows a rule: a function from a request to the text of a reply."""

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
    file), between runs. `usage` is what was spent; `asked` and `found` count what went to the model
    and what did not have to. `system` stands before every conversation.
    """

    def __init__(
        self, model: str | Model | Rule, *, cache: str | Path | None = None, system: str = ""
    ) -> None:
        if not isinstance(model, str | Model) and cache is not None:
            raise InvalidOption("answers of a function are not kept in a file; leave out cache")
        self.model = _model(model)
        self.system = system
        self.usage = Usage()
        self.asked = self.found = 0
        self._path = None if cache is None else Path(cache)
        self._known = _read(self._path)

    def ask(self, requests: Sequence[Request]) -> list[str]:
        """The replies' texts, in order.

        A request with `choices` comes back as one of them. A model that cannot be held to choices
        is asked in its own words and the last choice it names counts, or else the first choice.
        """
        keys = [self._key(request) for request in requests]
        fresh = {k: r for k, r in zip(keys, requests, strict=True) if k not in self._known}
        self.asked += len(fresh)
        self.found += len(requests) - len(fresh)
        if fresh:
            self._remember(list(fresh), self.model.chat([self._put(r) for r in fresh.values()]))
        texts = (self._known[key] for key in keys)
        return [_chosen(text, r.choices) for text, r in zip(texts, requests, strict=True)]

    def _put(self, request: Request) -> Request:
        """The request as this model can take it."""
        before = (Message("system", self.system),) if self.system else ()
        choices = request.choices if "choices" in self.model.abilities else None
        return msgspec.structs.replace(request, messages=before + request.messages, choices=choices)

    def _key(self, request: Request) -> str:
        return sha256(msgspec.json.encode([self.model.name, self.system, request])).hexdigest()

    def _remember(self, keys: Sequence[str], replies: Sequence[Reply]) -> None:
        """Keep what was answered and what it took, then say what was too long."""
        fits = {k: r.text for k, r in zip(keys, replies, strict=True) if not r.overflow}
        self.usage = sum((reply.usage for reply in replies), self.usage)
        self._known |= fits
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                file.writelines(msgspec.json.encode(pair) + b"\n" for pair in fits.items())
        if len(fits) < len(keys):
            raise InvalidOption(
                f"what {self.model.name} is to judge does not fit its context; show it fewer "
                "turns (as_text(record, last=…)) or open it with a longer context"
            )


@lru_cache(maxsize=2)
def _by_uri(uri: str) -> Judge:
    return Judge(uri)


def opened(judge: Judge | str) -> Judge:
    """A judge, or the judge of a model's URI; the same one for the same URI."""
    return _by_uri(judge) if isinstance(judge, str) else judge


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
    if path is None or not path.exists():
        return {}
    try:
        return dict(msgspec.json.decode(line) for line in path.read_bytes().splitlines())
    except (msgspec.DecodeError, ValueError, TypeError) as error:
        raise InvalidOption(f"{path} is no cache of judgements; delete it: {error}") from error


def _chosen(text: str, choices: Sequence[str] | None) -> str:
    """The choice that a reply names last, as a word of its own; the first where it names none."""
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
