"""Levels drawn in characters, one line a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from palestra.kernel.errors import InvalidOption

MAX_SIDE = 60  # rows and columns: a row of a mask is one integer, a bit a cell


@dataclass(frozen=True, slots=True)
class Level:
    """A map: rows of characters, all equally long."""

    lines: tuple[str, ...]

    @property
    def rows(self) -> int:
        return len(self.lines)

    @property
    def columns(self) -> int:
        return len(self.lines[0])

    def count(self, kinds: str) -> int:
        return sum(line.count(kind) for line in self.lines for kind in kinds)

    def masks(self, kinds: str) -> tuple[int, ...]:
        """Where these characters stand: one integer a row, bit c for column c."""
        return tuple(
            sum(1 << column for column, kind in enumerate(line) if kind in kinds)
            for line in self.lines
        )

    def text(self) -> str:
        return "\n".join(self.lines)


def read_level(text: str, kinds: Mapping[str, str]) -> Level:
    """Read a map, one line a row; `kinds` says what each character means.

    Raises `InvalidOption`, with line and column counted from 1, for anything else.
    """
    lines = text.strip("\n").split("\n")
    if len(lines) > MAX_SIDE:
        raise InvalidOption(f"level: {len(lines)} lines; a map has at most {MAX_SIDE}")
    width = len(lines[0])
    if not 0 < width <= MAX_SIDE:
        raise InvalidOption(
            f"level: line 1 has {width} characters; a map is 1 to {MAX_SIDE} characters wide"
        )
    accepted = ", ".join(f"{kind!r} {meaning}" for kind, meaning in kinds.items())
    for number, line in enumerate(lines, 1):
        for column, kind in enumerate(line, 1):
            if kind not in kinds:
                raise InvalidOption(
                    f"level: line {number}, column {column}: {kind!r} means nothing; use {accepted}"
                )
        if len(line) != width:
            raise InvalidOption(
                f"level: line {number}, column {min(len(line), width) + 1}: the line is "
                f"{len(line)} characters long, the first line {width}"
            )
    return Level(tuple(lines))
