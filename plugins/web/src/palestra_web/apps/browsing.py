"""Building blocks of plays in the apps: reading tables, opening rows, filling in forms."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Generator
from typing import NamedTuple

from palestra import TextAction

from palestra_web.actions import Back, Click, Fill, Goto
from palestra_web.reading import find, read_page

Play = Generator[TextAction, str, str]  # yields actions, receives pages, returns the answer
_LINE = re.compile(r"^ *(?:\[(\d+)\] )?(\w+)(?: (['\"].*['\"]))?$")
_PARAGRAPH = re.compile(r"^ *paragraph (['\"].*['\"])$", re.MULTILINE)


class Cell(NamedTuple):
    """A cell's text, and the number of the link or button in it."""

    text: str
    number: int = 0


def table_of(page: str) -> list[list[Cell]]:
    """The rows of a page's table, without its head."""
    rows: list[list[Cell]] = []
    for line in page.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        number, role, quoted = match.groups()
        name = str(ast.literal_eval(quoted)) if quoted else ""
        if role == "row":
            rows.append([])
        elif role == "cell":
            rows[-1].append(Cell(name))
        elif number and rows and rows[-1] and not rows[-1][-1].text:
            rows[-1][-1] = Cell(name, int(number))
    return rows[1:]


def rows_at(url: str) -> Generator[TextAction, str, list[list[Cell]]]:
    """All rows of a list, over all its pages."""
    rows: list[list[Cell]] = []
    for number in range(1, 1000):
        page = yield Goto(f"{url}?page={number}")
        rows += table_of(page)
        if "link 'Next'" not in page:
            break
    return rows


def open_rows(
    url: str, wanted: Callable[[list[Cell]], bool]
) -> Generator[TextAction, str, list[str]]:
    """The pages that the links of the wanted rows open, in order of the rows."""
    texts = []
    for number in range(1, 1000):
        page = yield Goto(f"{url}?page={number}")
        for row in filter(wanted, table_of(page)):
            texts.append((yield Click(max(cell.number for cell in row))))
            yield Back()
        if "link 'Next'" not in page:
            break
    return texts


def send_form(url: str, name: str, **values: str) -> Generator[TextAction, str, None]:
    """Open a page, fill in its form and press a button."""
    page = yield Goto(url)
    yield from fill_form(page, name, **values)


def fill_form(page: str, name: str, **values: str) -> Generator[TextAction, str, None]:
    """Put values into the fields of a page, named by their labels, and press a button."""
    seen = read_page(page)
    for label, value in values.items():
        yield Fill(find(seen, "textbox", label).number, value)
    yield Click(find(seen, "button", name).number)


def people() -> Generator[TextAction, str, dict[str, str]]:
    """Addresses by name."""
    page = yield Goto("/people")
    return {name.text: address.text for name, address in table_of(page)}


def text_after(page: str, label: str) -> str:
    """The text that stands after a label on a line of the page; empty if none does."""
    found = re.search(rf"paragraph '{label}: (.*)'", page)
    return found[1] if found else ""


def open_row(url: str, wanted: Callable[[list[Cell]], bool]) -> Generator[TextAction, str, str]:
    """The page that the link of the first wanted row opens."""
    for number in range(1, 1000):
        page = yield Goto(f"{url}?page={number}")
        for row in filter(wanted, table_of(page)):
            return (yield Click(max(cell.number for cell in row)))
    raise LookupError(f"no such row at {url}")


def paragraphs(page: str) -> list[str]:
    """The paragraphs of a page, in order."""
    return [str(ast.literal_eval(quoted)) for quoted in _PARAGRAPH.findall(page)]


def press_in_rows(
    url: str, wanted: Callable[[list[Cell]], bool], name: str
) -> Generator[TextAction, str, None]:
    """Open every wanted row of a list in turn, and press a button that makes it leave the list."""
    rows = yield from rows_at(url)
    for _ in filter(wanted, rows):
        page = yield from open_row(url, wanted)
        yield Click(find(read_page(page), "button", name).number)
