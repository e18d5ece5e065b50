"""Probe sets as data: items with options, arms of a study, and the questions they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

import msgspec
from palestra import InvalidOption
from palestra.files import UNREADABLE, read_file, write_bytes

PLAIN = "plain"  # the arm without a system prompt


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question, in one wording.

    options: what may be chosen; without any, the reply is free text. style: "letters" lists the
    options under letters, "words" asks for one of the options itself (yes, no). scale: the options
    are points of a scale, which is shown forwards and backwards and never rotated. group: items
    that are analysed together. phrasing: names of wordings of one question share `group` and
    facts. facts: what the analysis needs; no respondent reads them.
    """

    id: str
    text: str
    options: tuple[str, ...] = ()
    style: Literal["letters", "words"] = "letters"
    scale: bool = False
    group: str = ""
    phrasing: str = ""
    facts: Mapping[str, Any] = {}


class ProbeSet(msgspec.Struct, frozen=True, omit_defaults=True):
    """Items, and the arms in which all of them are asked: a system prompt by name of the arm."""

    name: str
    items: tuple[Item, ...]
    arms: Mapping[str, str] = msgspec.field(default_factory=lambda: {PLAIN: ""})
    source: str = ""  # who published the study, or where the items come from

    def __post_init__(self) -> None:
        names = [item.id for item in self.items]
        twice = sorted({name for name in names if names.count(name) > 1})
        if not names or twice:
            what = f"several items are called {twice[0]!r}" if twice else "it has no items"
            raise InvalidOption(f"probe set {self.name!r}: {what}; give each item an id of its own")
        for item in self.items:
            _check(item)
        if not self.arms:
            raise InvalidOption(f'probe set {self.name!r} has no arms; give {{"plain": ""}}')

    @property
    def by_id(self) -> dict[str, Item]:
        """The items by their ids."""
        return {item.id: item for item in self.items}

    @property
    def digest(self) -> str:
        """Equal for sets that ask the same."""
        return blake2b(msgspec.json.encode(self, order="sorted"), digest_size=8).hexdigest()


def _check(item: Item) -> None:
    """Refuse an item whose answer could not be read."""
    folded = {" ".join(option.casefold().split()) for option in item.options}
    if len(item.options) == 1 or len(folded) < len(item.options) or "" in folded:
        raise InvalidOption(
            f"item {item.id!r} needs two or more different options, or none for a free reply; "
            f"got {list(item.options)}"
        )
    if len(item.options) > len(ascii_uppercase):
        raise InvalidOption(f"item {item.id!r} has {len(item.options)} options; 26 at most")
    letters = {letter.casefold() for letter in ascii_uppercase[: len(item.options)]}
    if item.style == "letters" and folded & letters:
        raise InvalidOption(
            f"item {item.id!r} has an option that is a letter of the list; use style='words'"
        )


class Question(msgspec.Struct, frozen=True):
    """An item with its options in one order: `order[place]` is the option listed there."""

    item: Item
    order: tuple[int, ...]
    repeat: int

    @property
    def labels(self) -> tuple[str, ...]:
        """What to answer, by place in the list."""
        if self.item.style == "words":
            return tuple(self.item.options[option] for option in self.order)
        return tuple(ascii_uppercase[: len(self.order)])

    @property
    def moves(self) -> dict[str, int]:
        """Every form of an answer that names an option, with the option's place in the list."""
        found = {label: place for place, label in enumerate(self.labels)}
        if self.item.style == "letters":
            for place, option in enumerate(self.order):
                text = self.item.options[option]
                found[f"{self.labels[place]}: {text}"] = found[text] = place
        return found

    @property
    def text(self) -> str:
        """The whole question as a respondent reads it."""
        if not self.order:
            return self.item.text
        if self.item.style == "words":
            return f"{self.item.text}\n\nAnswer with one of these only: {', '.join(self.labels)}."
        listed = "\n".join(
            f"{label}: {self.item.options[option]}"
            for label, option in zip(self.labels, self.order, strict=True)
        )
        *some, last = self.labels
        return f"{self.item.text}\n\n{listed}\n\nAnswer with {', '.join(some)} or {last} only."


def orders_of(item: Item) -> tuple[tuple[int, ...], ...]:
    """The orders in which an item's options are listed: every option in every place as often.

    Two options are swapped, more are rotated; a scale is reversed.
    """
    straight = tuple(range(len(item.options)))
    if item.scale:
        return straight, straight[::-1]
    return tuple(straight[at:] + straight[:at] for at in straight) or ((),)


def questions_of(items: Sequence[Item], samples: int = 1) -> tuple[Question, ...]:
    """Every item in every order, `samples` times; more samples only add questions at the end."""
    return tuple(
        Question(item, order, repeat)
        for repeat in range(samples)
        for item in items
        for order in orders_of(item)
    )


def write_set(probes: ProbeSet, path: str | Path) -> Path:
    """Write a set as JSON, for people to edit and to bring their own."""
    return write_bytes(path, msgspec.json.format(msgspec.json.encode(probes), indent=2))


def read_set(path: str | Path) -> ProbeSet:
    """Read a set from JSON; raises `InvalidOption` if it is none."""
    try:
        return msgspec.json.decode(read_file(path), type=ProbeSet)
    except (OSError, *UNREADABLE) as error:
        raise InvalidOption(
            f"{path} is no probe set ({type(error).__name__}: {error}); write "
            '{"name": "…", "items": [{"id": "…", "text": "…", "options": ["…", "…"]}]}'
        ) from error
