"""Documentation pages with a generated part between two marks."""

from __future__ import annotations

from palestra import InvalidOption


def replace_part(page: str, marks: tuple[str, str], part: str) -> str:
    """A page with the part between its marks replaced; raises `InvalidOption` without marks."""
    first, last = marks
    head, start, rest = page.partition(first)
    _, end, tail = rest.partition(last)
    if not start or not end:
        raise InvalidOption(f"the page must hold the marks {first} and {last}")
    return f"{head}{first}\n{part}{last}{tail}"
