"""Legal offers in Catan: sets of cards from a hand, for sets of other kinds of cards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from palestra import Option, Rng, TextAction

from palestra_games.board.catan.rules import Cards, card_sets, holds, write_cards


@lru_cache(maxsize=1024)
def sets_within(limits: Cards, most: int) -> dict[str, Cards]:
    """The sets of 1 to `most` cards with no more of a kind than `limits` has, by their text."""
    return {text: cards for text, cards in card_sets(most).items() if holds(limits, cards)}


def disjoint(one: Cards, other: Cards) -> bool:
    """Whether no kind of card is in both."""
    return not any(a and b for a, b in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True)
class CardSet:
    """A domain of an action's field: cards as text, such as '2 brick, ore'."""

    limits: Cards
    most: int

    @property
    def sets(self) -> dict[str, Cards]:
        return sets_within(self.limits, self.most)

    def problem(self, value: object) -> str | None:
        return None if value in self.sets else f"must be {self}, not {value!r}"

    def sample(self, rng: Rng) -> str:
        return rng.choice(tuple(self.sets))

    def pattern(self, chars: int) -> str:
        return any_of(self.sets)

    def longest(self, chars: int) -> int:
        return max(len(repr(text)) for text in self.sets)

    def __str__(self) -> str:
        return f"'1 to {self.most} cards of: {write_cards(self.limits)}'"


class OfferOption(Option):
    """An offer with the fields `give` and `want`, of which none may be in the other."""

    __slots__ = ()

    @property
    def _sides(self) -> tuple[CardSet, CardSet]:
        give, want = self.fields["give"], self.fields["want"]
        assert isinstance(give, CardSet)
        assert isinstance(want, CardSet)
        return give, want

    def problem(self, action: TextAction) -> str | None:
        why = super().problem(action)
        if why:
            return why
        sets = card_sets(max(side.most for side in self._sides))
        give, want = (sets[getattr(action, name)] for name in ("give", "want"))
        return None if disjoint(give, want) else "asks for a resource that it gives"

    def sample(self, rng: Rng) -> TextAction:
        give, want = self._sides
        given = give.sample(rng)
        return self.action(give=given, want=rng.choice(self._wanted_texts(give.sets[given], want)))

    def pattern(self, chars: int) -> str:
        """A regular expression with one alternative for each group of kinds given together."""
        give, want = self._sides
        groups: dict[Cards, list[str]] = {}
        for text, cards in give.sets.items():
            groups.setdefault(tuple(int(n > 0) for n in cards), []).append(text)
        sides = (
            f"give={any_of(texts)}, want={any_of(self._wanted_texts(kinds, want))}"
            for kinds, texts in groups.items()
        )
        return "(" + "|".join(rf"{self.name}\({side}\)" for side in sides) + ")"

    @staticmethod
    def _wanted_texts(given: Cards, want: CardSet) -> list[str]:
        return [text for text, cards in want.sets.items() if disjoint(given, cards)]


def any_of(texts: Iterable[str]) -> str:
    """A pattern that matches any of several strings in quotation marks."""
    return "(" + "|".join(re.escape(repr(text)) for text in texts) + ")"
