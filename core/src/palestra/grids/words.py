"""Quantities and offsets in words."""

from __future__ import annotations

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def quantity(number: int, thing: str) -> str:
    """A number of things in words, such as 'two cells'; numerals from eleven on."""
    name = NUMBERS[number] if number < len(NUMBERS) else str(number)
    return f"{name} {thing}" if number == 1 else f"{name} {thing}s"


def where(south: int, east: int) -> str:
    """An offset in words, such as 'two cells north and one cell east of you'."""
    parts = []
    if south:
        parts.append(f"{quantity(abs(south), 'cell')} {'south' if south > 0 else 'north'}")
    if east:
        parts.append(f"{quantity(abs(east), 'cell')} {'east' if east > 0 else 'west'}")
    return f"{' and '.join(parts)} of you" if parts else "on your own cell"
