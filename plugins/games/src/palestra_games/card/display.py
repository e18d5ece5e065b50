"""Text shared by card games."""

from __future__ import annotations

from collections.abc import Iterable

from palestra import Piece

FACE_DOWN = Piece("?", -1, "card", "a card face down")


def word_list(words: Iterable[str], link: str = "and") -> str:
    """Words in a sentence: '1', '1 and 2', '1, 2 and 4'."""
    *most, last = words
    return f"{', '.join(most)} {link} {last}" if most else last
