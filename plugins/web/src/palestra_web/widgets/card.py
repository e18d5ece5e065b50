"""The parts of a widget task, and the list of all tasks.

A task is a function from an `Rng` to a `Widget`, most often a `Card`: the request, the page, and
the right answer. `@task` adds it to `TASKS` under its MiniWoB name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeVar

import msgspec
from palestra import Rng

from palestra_web.pages import Element, action, button, form, paragraph

DONE = "/done"  # where answers are sent
T = TypeVar("T")
Body = tuple[Element, ...]
Answer = Mapping[str, str]


@dataclass(frozen=True, repr=False)
class Widget(ABC):
    """A task and its pages: an immutable value that an answer replaces by the next one."""

    words: str  # what the player is asked to do

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.digest.hex()})"

    @cached_property
    def digest(self) -> bytes:
        """A hash of every value of the widget."""
        values = [value for name, value in vars(self).items() if name != "digest"]
        return blake2b(msgspec.msgpack.encode(values)).digest()[:16]

    @property
    @abstractmethod
    def phrases(self) -> tuple[str, ...]:
        """Parts of the task that are worth typing."""

    @abstractmethod
    def page(self, address: str) -> Body | None:
        """The page at an address, which includes its query; None where there is none."""

    @abstractmethod
    def take(self, answer: Answer) -> Widget | float:
        """The widget after an answer, or the reward of the answer: 1 if it is right, -1 if not."""

    def reveals(self, address: str) -> bool:
        """Whether an address shows something that the player could not know before."""
        return False

    def redraw(self, seen: frozenset[str], rng: Rng) -> Widget:
        """The widget with the pages at addresses not `seen` drawn anew."""
        return self


@dataclass(frozen=True, repr=False)
class Card(Widget):
    """A task as plain data.

    An answer is right if it has exactly the fields of `right`; the answers in `then`, if any, must
    follow.
    """

    body: Body  # the page at "/"
    right: Answer
    then: tuple[Answer, ...] = ()
    pages: Mapping[str, Body] = field(default_factory=dict)  # by address; no query: for every query
    hidden: tuple[str, ...] = ()  # addresses whose pages `redraw` exchanges while they are unseen
    details: tuple[str, ...] = ()  # addresses whose texts `redraw` exchanges while they are unseen
    typed: tuple[str, ...] = ()  # the phrases
    done: int = 0  # answers given so far, which the page counts

    @property
    def phrases(self) -> tuple[str, ...]:
        return self.typed

    def page(self, address: str) -> Body | None:
        if address == "/":
            count = (paragraph(f"{self.done} done."),) if self.done else ()
            return (*self.body, *count)
        return self.pages.get(address) or self.pages.get(address.partition("?")[0])

    def take(self, answer: Answer) -> Widget | float:
        if dict(answer) != dict(self.right):
            return -1.0
        if not self.then:
            return 1.0
        return replace(self, right=self.then[0], then=self.then[1:], done=self.done + 1)

    def reveals(self, address: str) -> bool:
        return address in self.hidden or address in self.details

    def redraw(self, seen: frozenset[str], rng: Rng) -> Card:
        pages = dict(self.pages)
        unseen = [address for address in self.hidden if address not in seen]
        bodies = some(rng, sorted((pages[address] for address in unseen), key=repr), len(unseen))
        pages.update(zip(unseen, bodies, strict=True))
        unseen = [address for address in self.details if address not in seen]
        texts = some(rng, sorted(_texts(pages[address]) for address in unseen), len(unseen))
        for address, names in zip(unseen, texts, strict=True):
            pages[address] = _with_texts(pages[address], iter(names))
        return replace(self, pages=pages)


def _is_text(element: Element) -> bool:
    return element.role == "paragraph" or (element.role == "link" and element.changes)


def _texts(body: Body) -> list[str]:
    """The names of paragraphs and of links that are answers, in document order."""
    found = []
    for element in body:
        found += [element.name] if _is_text(element) else _texts(element.children)
    return found


def _with_texts(body: Body, names: Iterator[str]) -> Body:
    """A page with other names in the places that `_texts` reads."""
    return tuple(
        [
            msgspec.structs.replace(element, name=next(names))
            if _is_text(element)
            else msgspec.structs.replace(element, children=_with_texts(element.children, names))
            for element in body
        ]
    )


Maker = Callable[[Rng], Widget]
TASKS: dict[str, Maker] = {}


def task(make: Maker) -> Maker:
    """Add a task to `TASKS`; the function `click_test_2` becomes click-test-2."""
    TASKS[make.__name__.replace("_", "-")] = make
    return make


# For writing tasks


def some(rng: Rng, items: Sequence[T], count: int) -> list[T]:
    """Different items, in a random order."""
    left = list(items)
    rng.shuffle(left)
    return left[:count]


def answer(*fields: Element, press: str = "Submit") -> Element:
    """A form whose button sends the fields as an answer."""
    return form(DONE, *fields, button(press), changes=True)


def choices(names: Sequence[Any]) -> Body:
    """Buttons each of which sends an answer, {"choice": name}."""
    return tuple([action(str(name), DONE, choice=str(name)) for name in names])
