"""Read the contexts of "Deal or No Deal?" from the files that the paper's authors published.

Two formats are read, as they are. In `selfplay.txt`, two lines in a row are the two sides of one
context, each with the number of books and the value of one, of hats and balls, such as
`1 4 4 1 1 2`. In `data.txt`, `train.txt`, `val.txt` and `test.txt`, every line is a dialogue and
holds both sides: `<input> 1 4 4 1 1 2 </input> … <partner_input> 1 0 4 2 1 2 </partner_input>`. The
dialogues themselves are not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from palestra import InvalidOption

Items = tuple[int, int, int]
Context = tuple[Items, tuple[Items, Items]]  # counts, and what one item is worth by seat
Side = tuple[Items, Items]  # counts, and what one item is worth to this side

_SIDES = re.compile(r"<input>([^<]*)</input>.*<partner_input>([^<]*)</partner_input>")


def read_contexts(path: str, *, most: int, worth: int) -> tuple[Context, ...]:
    """All contexts of a file, in order.

    most: most items of one kind. worth: what all items together are worth to each side.

    Raises `InvalidOption` that names the file, the line (from 1) and what is wrong with it.
    """
    try:
        stamp = Path(path).stat().st_mtime_ns
    except (OSError, ValueError) as error:
        raise InvalidOption(
            f"cannot read contexts from {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    return _read(path, stamp, most, worth)


@lru_cache(maxsize=8)
def _read(path: str, stamp: int, most: int, worth: int) -> tuple[Context, ...]:
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidOption(f"cannot read contexts from {path}: {error}") from error
    found = []
    for line, first, second in _pairs(path, lines):
        one, other = (_side(path, line, text, most, worth) for text in (first, second))
        if one[0] != other[0]:
            raise InvalidOption(
                f"{path}, line {line}: both sides must see the same items, not {one[0]} and "
                f"{other[0]}"
            )
        found.append((one[0], (one[1], other[1])))
    if not found:
        raise InvalidOption(f"{path} has no context; give a file such as selfplay.txt or data.txt")
    return tuple(found)


def _pairs(path: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """The last line of each context, and the six numbers of both its sides as text."""
    waiting = ""
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        if "<input>" in text:
            sides = _SIDES.search(text)
            if sides is None:
                raise InvalidOption(
                    f"{path}, line {number}: <input> … </input> and <partner_input> … "
                    "</partner_input> are needed"
                )
            yield number, sides[1], sides[2]
        elif waiting:
            yield number, waiting, text
            waiting = ""
        else:
            waiting = text
    if waiting:
        raise InvalidOption(f"{path}, line {len(lines)}: the other side of this context is missing")


def _side(path: str, line: int, text: str, most: int, worth: int) -> Side:
    """The counts and values of one side, checked."""
    words = text.split()
    if len(words) != 6 or not all(word.isascii() and word.isdecimal() for word in words):
        raise InvalidOption(
            f"{path}, line {line}: a side is six whole numbers, count and value of books, hats and "
            f"balls, not {text.strip()!r}"
        )
    a, b, c, d, e, f = map(int, words)
    counts, values = (a, c, e), (b, d, f)
    if not all(1 <= count <= most for count in counts):
        raise InvalidOption(
            f"{path}, line {line}: there must be 1 to {most} items of each kind, not {counts}"
        )
    total = sum(count * value for count, value in zip(counts, values, strict=True))
    if total != worth:
        raise InvalidOption(
            f"{path}, line {line}: all items together must be worth {worth}, not {total}"
        )
    return counts, values
