"""The English words that the word games draw from, and user-supplied word lists."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from palestra import InvalidOption


@cache
def english() -> tuple[str, ...]:
    """Common English words of four to seven letters, shorter first, then by alphabet."""
    text = files("palestra_games.words").joinpath("words_en.txt").read_text(encoding="ascii")
    return tuple(text.split())


def word_list(words: Sequence[str] | str) -> tuple[str, ...]:
    """User-supplied words as a tuple without duplicates; a string is split at whitespace.

    Raises `InvalidOption` for anything but words in lower-case letters from a to z.
    """
    listed = tuple(dict.fromkeys(words.split() if isinstance(words, str) else words))
    for word in listed:
        if not (isinstance(word, str) and word.isascii() and word.isalpha() and word.islower()):
            raise InvalidOption(f"words must be written in small letters a to z, not {word!r}")
    return listed
