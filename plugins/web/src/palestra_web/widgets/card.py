"""What a widget task is made of, and the list of all of them.

A task is a function from an `Rng` to a `Widget`, most often a `Card`: what is asked, the page, and
the answer that is right. `@task` puts it into `TASKS` under the name it has in MiniWoB.
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
    """What is asked and what stands there; a value, which an answer replaces by the next one."""

    words: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.digest.hex()})"

    @cached_property
    def digest(self) -> bytes:
        values = [value for name, value in vars(self).items() if name != "digest"]
        return blake2b(msgspec.msgpack.encode(values)).digest()[:16]

    @property
    @abstractmethod
    def phrases(self) -> tuple[str, ...]:
        """Parts of the task that are worth typing."""

    @abstractmethod
    def page(self, address: str) -> Body | None:
        """What stands at an address, query included; None where nothing does."""

    @abstractmethod
    def take(self, answer: Answer) -> Widget | float:
        """The widget after an answer, or what the answer pays: 1 if it is right, -1 if not."""

    def reveals(self, address: str) -> bool:
        """Whether an address shows something that could not be known before."""
        return False

    def redrawn(self, seen: frozenset[str], rng: Rng) -> Widget:
        """The same with what stands at addresses not `seen` drawn anew."""
        return self


@dataclass(frozen=True, repr=False)
class Card(Widget):
    """A task as plain data.

    `body` stands at "/", `pages` at other addresses; one without a query stands for every query.
    An answer is right if it has exactly the fields of `right`; where there is more to do, the
    answers of `then` must follow, and the page counts those `done`. `typed` are the phrases. For
    all that is known before they are opened, the addresses of `hidden` might as well have each
    other's pages, and those of `details` each other's texts.
    """

    body: Body
    right: Answer
    then: tuple[Answer, ...] = ()
    pages: Mapping[str, Body] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    done: int = 0

    @property
    def phrases(self) -> tuple[str, ...]:
        return self.typed

    def page(self, address: str) -> Body | None:
        if address == "/":
            told = (paragraph(f"{self.done} done."),) if self.done else ()
            return (*self.body, *told)
        return self.pages.get(address) or self.pages.get(address.partition("?")[0])

    def take(self, answer: Answer) -> Widget | float:
        if dict(answer) != dict(self.right):
            return -1.0
        if not self.then:
            return 1.0
        return replace(self, right=self.then[0], then=self.then[1:], done=self.done + 1)

    def reveals(self, address: str) -> bool:
        return address in self.hidden or address in self.details

    def redrawn(self, seen: frozenset[str], rng: Rng) -> Card:
        pages = dict(self.pages)
        unseen = [address for address in self.hidden if address not in seen]
        bodies = some(rng, [pages[address] for address in unseen], len(unseen))
        pages.update(zip(unseen, bodies, strict=True))
        unseen = [address for address in self.details if address not in seen]
        texts = some(rng, [_texts(pages[address]) for address in unseen], len(unseen))
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
    """The same with other names in their places."""
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
    """Put a task on the list; `click_test_2` is click-test-2."""
    TASKS[make.__name__.replace("_", "-")] = make
    return make


# Words tasks are written with


def some(rng: Rng, items: Sequence[T], count: int) -> list[T]:
    """Different items, in a random order."""
    left = list(items)
    rng.shuffle(left)
    return left[:count]


def answer(*fields: Element, press: str = "Submit") -> Element:
    """A form whose button sends the fields as an answer."""
    return form(DONE, *fields, button(press), changes=True)


def choices(names: Sequence[Any]) -> Body:
    """Buttons each of which is an answer, right={"choice": name}."""
    return tuple([action(str(name), DONE, choice=str(name)) for name in names])
