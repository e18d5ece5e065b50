"""The array view of a page: a row of numbers for every element that can be acted on.

Row 0 is the tab's: the share of actions left, the share of the page scrolled past, and the hashed
words of the title. Row n is element n's: a 1; its role, one-hot (7); whether it is chosen; whether
it holds text; for each of up to four phrases of the task, the share of its words that occur in the
element's name; and the hashed words of the name (18).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from palestra_web.pages import Element, Page

ROLES = {
    role: 1 + index
    for index, role in enumerate(
        ("link", "button", "textbox", "checkbox", "radio", "combobox", "option")
    )
}
CHOSEN, HOLDS, PHRASES, WORDS = 8, 9, 10, 14
BUCKETS = 18
WIDTH = WORDS + BUCKETS

Rows = NDArray[np.float32]


def page_rows(page: Page, phrases: Sequence[str], most: int) -> Rows:
    """The rows of a page before anything is typed, as a copy: (most + 1, 32).

    Elements with a number above `most` have no row.
    """
    key = (tuple(phrases[:4]), most)
    rows: Rows | None = page.rows.get(key)
    if rows is None:
        rows = page.rows[key] = _rows(page, phrases[:4], most)
    return rows.copy()


def _rows(page: Page, phrases: Sequence[str], most: int) -> Rows:
    rows = np.zeros((most + 1, WIDTH), np.float32)
    rows[0, list(_buckets(page.title))] = 1
    wanted = [frozenset(phrase.lower().split()) for phrase in phrases]
    for number, element in enumerate(page.numbered[:most], start=1):
        _fill(rows[number], element, wanted)
    return rows


def _fill(row: Any, element: Element, wanted: Sequence[frozenset[str]]) -> None:
    row[0] = 1
    row[ROLES[element.role]] = 1
    row[CHOSEN] = element.chosen
    row[HOLDS] = bool(element.role in ("textbox", "combobox") and element.value)
    name = element.name
    row[list(_buckets(name))] = 1
    words = set(name.lower().split())
    for index, phrase in enumerate(wanted):
        if phrase:
            row[PHRASES + index] = len(words & phrase) / len(phrase)


@lru_cache(4096)
def _buckets(text: str) -> frozenset[int]:
    return frozenset(WORDS + crc32(word.encode()) % BUCKETS for word in text.lower().split())


def put_draft(rows: Rows, number: int, value: str) -> None:
    """Write the new content of a field into its row."""
    is_text = rows[number, ROLES["textbox"]] or rows[number, ROLES["combobox"]]
    rows[number, HOLDS if is_text else CHOSEN] = bool(value)


def put_tab(rows: Rows, left: float, scrolled: float) -> Rows:
    """Write the shares of actions left and of the page scrolled past into the tab's row."""
    rows[0, 0], rows[0, 1] = left, scrolled
    return rows
