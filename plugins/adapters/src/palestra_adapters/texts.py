"""Laying out the parts of a prompt: what is empty is left out, and what others wrote is quoted."""

from __future__ import annotations

from collections.abc import Iterable

from palestra import Turn
from palestra.quoting import quote


def join_lines(*parts: str) -> str:
    """The parts that are not empty, each on a line of its own."""
    return "\n".join(filter(None, parts))


def join_paragraphs(*parts: str) -> str:
    """The parts that are not empty, with a blank line between."""
    return "\n\n".join(filter(None, parts))


def refusal(turn: Turn, answer: str = "That") -> str:
    """Why the last answer of this turn was refused, as in `That was refused: …`; else empty."""
    return f"{answer} was refused: {turn.error}" if turn.error else ""


def bullets(texts: Iterable[str]) -> str:
    """Texts that a model wrote as quoted lines that begin with `- `."""
    return "\n".join(f"- {quote(text)}" for text in texts)


def numbered(texts: Iterable[str]) -> str:
    """Texts that a model wrote as quoted lines that begin with `1. `, `2. ` and so on."""
    return "\n".join(f"{number}. {quote(text)}" for number, text in enumerate(texts, 1))
