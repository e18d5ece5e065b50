"""Numbers and places put into words."""

from __future__ import annotations

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def counted(number: int, thing: str) -> str:
    """'two cells'; numerals from eleven on."""
    name = NUMBERS[number] if number < len(NUMBERS) else str(number)
    return f"{name} {thing}" if number == 1 else f"{name} {thing}s"


def where(south: int, east: int) -> str:
    """'two cells north and one cell east of you'."""
    parts = []
    if south:
        parts.append(f"{counted(abs(south), 'cell')} {'south' if south > 0 else 'north'}")
    if east:
        parts.append(f"{counted(abs(east), 'cell')} {'east' if east > 0 else 'west'}")
    return f"{' and '.join(parts)} of you" if parts else "on your own cell"
