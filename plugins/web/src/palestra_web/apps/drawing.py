"""Random choices that are recorded by what they name, and made again in other apps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from palestra_web.apps.rows import Apps, File, Meeting, Person
from palestra_web.shop.catalogue import Draw

T = TypeVar("T")


def named(item: Any, apps: Apps) -> Any:
    """What an errand tells of an item: of people their names, of meetings who, what and when."""
    if isinstance(item, Person):
        return Person(item.name, "")
    if isinstance(item, Meeting):
        guest = next(person.name for person in apps.people if person.address == item.guest)
        return Meeting(0, item.title, guest, item.day, "", 0)
    if isinstance(item, File):
        return File(0, item.name, "")
    return item


class RecordedDraw(Draw):
    """Draws from another generator and records every choice in `choices`."""

    def __init__(self, source: Draw, apps: Apps) -> None:
        self._source, self._apps = source, apps
        self.choices: list[Any] = []

    def below(self, n: int) -> int:
        self.choices.append(value := self._source.below(n))
        return value

    def choice(self, items: Sequence[T]) -> T:
        item = self._source.choice(items)
        self.choices.append(named(item, self._apps))
        return item

    def some(self, items: Sequence[T], low: int, high: int) -> tuple[T, ...]:
        found = self._source.some(items, low, high)
        self.choices.append(tuple([named(item, self._apps) for item in found]))
        return found


class RepeatedDraw(Draw):
    """Makes recorded choices again; raises `LookupError` where the apps lack what was chosen."""

    def __init__(self, choices: Sequence[Any], apps: Apps) -> None:
        self._left, self._apps = list(reversed(choices)), apps

    def _next(self) -> Any:
        if not self._left:
            raise LookupError("more is drawn than was recorded")
        return self._left.pop()

    def below(self, n: int) -> int:
        value: int = self._next()
        return value

    def choice(self, items: Sequence[T]) -> T:
        return self._find(items, self._next())

    def some(self, items: Sequence[T], low: int, high: int) -> tuple[T, ...]:
        return tuple([self._find(items, name) for name in self._next()])

    def _find(self, items: Sequence[T], name: Any) -> T:
        for item in items:
            if named(item, self._apps) == name:
                return item
        raise LookupError(f"there is no {name!r}")
