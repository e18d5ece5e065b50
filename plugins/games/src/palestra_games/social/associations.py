"""Palestra's own words and hints for Codenames and Taboo, and tests for related words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Annotated

import snowballstemmer
from palestra import InvalidOption, Meta, Rng

LEAST_PART = 4  # letters that a word must have to count as a part of another

Associations = tuple[tuple[str, tuple[str, ...]], ...]  # a hint, and the words it fits, best first


AssociationOption = Annotated[
    Associations,
    Meta(description="pairs of a hint and the words it fits, best first; empty: Palestra's"),
]


class AssociationTable:
    """A mixin with what games derive from their option `associations`."""

    associations: AssociationOption

    @cached_property
    def table(self) -> Associations:
        """The associations played with: the caller's, or those of the package."""
        return self.associations or english()

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """The clues the scripted players know, and the array view names by number."""
        return tuple(hint for hint, _ in self.table)

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The words played with, in alphabetical order."""
        return words_of(self.table)


@cache
def english() -> Associations:
    """The table that ships with the package; every word has at least two hints."""
    text = (
        files("palestra_games.social").joinpath("associations_en.txt").read_text(encoding="ascii")
    )
    lines = (line.split(":") for line in text.splitlines())
    return tuple((hint, tuple(words.split())) for hint, words in lines)


@cache
def words_of(table: Associations) -> tuple[str, ...]:
    """Every word of a table, in alphabetical order."""
    return tuple(sorted({word for _, words in table for word in words}))


def check_associations(table: Associations, least: int) -> None:
    """Raise `InvalidOption` for a table that is malformed or has fewer than `least` words."""
    names = [*(hint for hint, _ in table), *words_of(table)]
    plain = all(name.isascii() and name.isalpha() and name.islower() for name in names)
    if not plain or len(set(names)) < len(names) or len(words_of(table)) < least:
        raise InvalidOption(
            "associations must be pairs of a hint and the words it fits, hints all different and "
            f"no words themselves, in small letters a to z, with {least} words or more in all"
        )


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """What the forms of an English word have in common, by Porter's second stemmer."""
    return snowballstemmer.stemmer("english").stemWord(word.lower())


@lru_cache(maxsize=1 << 16)
def related_words(one: str, other: str) -> bool:
    """Whether two words are forms of each other, or one begins or ends with the other.

    A part must have four letters or more: "horse" is a part of "horseshoe", "ice" is not a part of
    "dice".
    """
    short, long = sorted((one.lower(), other.lower()), key=len)
    if stem(short) == stem(long):
        return True
    return len(short) >= LEAST_PART and (long.startswith(short) or long.endswith(short))


@dataclass(frozen=True, slots=True)
class Word:
    """One word of up to `limit` letters; `samples` are words a program may say."""

    limit: int
    samples: tuple[str, ...]

    def problem(self, value: object) -> str | None:
        if not isinstance(value, str) or not (value.isascii() and value.isalpha()):
            return f"must be one word of letters a to z, not {value!r}"
        if len(value) > self.limit:
            return f"has {len(value)} letters, more than {self.limit}"
        return None

    def sample(self, rng: Rng) -> str:
        return rng.choice(self.samples)

    def pattern(self, chars: int) -> str:
        return f"'[A-Za-z]{{1,{min(self.limit, chars)}}}'"

    def longest(self, chars: int) -> int:
        return min(self.limit, chars) + 2

    def __str__(self) -> str:
        return f"'one word up to {self.limit} letters'"
