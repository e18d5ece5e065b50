"""Texts of a page, each line once: prompts and pictures in words repeat most of their lines."""

from __future__ import annotations

from typing import Any

from palestra_renderers.plain import clean

LETTERS = 20_000  # of one text
LINE = 4_000  # letters of one line
DEPTH, ITEMS = 6, 200  # of nested data


class TextTable:
    """Every line of an episode's texts once; a text is the list of the numbers of its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers: dict[str, int] = {}

    def text(self, text: str | None) -> list[int]:
        """The numbers of a text's lines; what is left out of a long text is counted."""
        if not text:
            return []
        left = len(text) - LETTERS
        lines = [clean(line, LINE) for line in text[:LETTERS].split("\n")]
        if left > 0:
            lines.append(f"… ({left:,} more characters)")
        return [self._number(line) for line in lines]

    def _number(self, line: str) -> int:
        number = self._numbers.setdefault(line, len(self.lines))
        if number == len(self.lines):
            self.lines.append(line)
        return number


def clean_data(value: Any, depth: int = DEPTH) -> Any:
    """JSON data whose texts are safe to show; what is too deep or too long is clipped."""
    if isinstance(value, str):
        return clean(value, LINE)
    if not isinstance(value, dict | list | tuple):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        named = list(value.items())[:ITEMS]
        return {clean(str(name), 200): clean_data(one, depth - 1) for name, one in named}
    return [clean_data(one, depth - 1) for one in value[:ITEMS]]
