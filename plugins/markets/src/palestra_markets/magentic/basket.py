"""Lists of menu items as players write them: separated by commas, each item at most once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from palestra import Rng

MOST_ITEMS = 6


def split_items(text: str) -> tuple[str, ...]:
    """The items of a text, without the spaces around them."""
    return tuple(item.strip() for item in text.split(","))


@dataclass(frozen=True, slots=True)
class Basket:
    """One to six different items of `menu`."""

    menu: tuple[str, ...]

    def problem(self, value: object) -> str | None:
        if not isinstance(value, str):
            return f"must be a string of items, not {value!r}"
        items = split_items(value)
        unknown = [item for item in items if item not in self.menu]
        if unknown:
            return f"has {unknown[0]!r}, which is not on the menu: {', '.join(self.menu)}"
        if len(set(items)) < len(items) or len(items) > MOST_ITEMS:
            return f"must name up to {MOST_ITEMS} items, each once, not {value!r}"
        return None

    def sample(self, rng: Rng) -> str:
        items = list(self.menu)
        rng.shuffle(items)
        return ", ".join(items[: rng.between(1, min(3, len(items)))])

    def pattern(self, chars: int) -> str:
        """A single item, since a pattern cannot refuse the same item twice."""
        return f"'({'|'.join(map(re.escape, self.menu))})'"

    def longest(self, chars: int) -> int:
        return max(len(item.encode()) for item in self.menu) + 2

    def __str__(self) -> str:
        return f"'one to {MOST_ITEMS} of: {', '.join(self.menu)}'"
