"""Lists of an office: rows, the form in which they are written, and rules that check a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from palestra import Rng

CATEGORIES = ("travel", "meals", "supplies")
ITEMS = (
    "bridge toll", "coffee beans", "desk fan", "envelopes", "ferry ticket", "garden lunch",
    "hotel night", "ink bottle", "juice crate", "lamp oil", "map printing", "notebooks",
    "oak shelf", "parking fee", "rail pass", "soup dinner", "taxi ride", "whiteboard",
)  # fmt: skip
TITLES = ("WEEKLY LIST", "Costs at a glance", "Office notes", "What we spent")
BULLETS = ("- ", "* ", "> ", "+ ")
SEPARATORS = (": ", " | ", " = ", " ~ ")
CASES = ("capitals", "small letters", "a capital first")
SORTS = ("amount, largest first", "amount, smallest first", "item, from A to Z")
BANNED = ("and", "the", "please", "very")
CLOSING = range(4, 10)  # words of the closing sentence
WORDS = (
    "we", "thank", "all", "our", "colleagues", "for", "their", "careful", "work", "on", "this",
    "list",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a table."""

    item: str
    category: str
    amount: int


@dataclass(frozen=True, slots=True)
class Form:
    """How a list is written: what its looks show, and what a style sheet says."""

    title: str
    bullet: str
    separator: str
    amount_first: bool
    case: str
    sort: str
    total: bool
    words: int  # of the closing sentence
    banned: str  # a word that must not occur


@dataclass(frozen=True, slots=True)
class Changes:
    """What happened to a list since it was written."""

    gone: str
    risen: str
    now: int  # the amount of the risen item
    fresh: Row


@lru_cache(maxsize=1024)
def draw_rows(names: int, amounts: int, count: int) -> tuple[Row, ...]:
    """Rows with different items and amounts, at least two of each category."""
    items, rng = draw_items(names), Rng.seeded(amounts, 12)
    kinds = [CATEGORIES[n % len(CATEGORIES)] for n in range(count)]
    rng.shuffle(kinds)
    taken: list[int] = []
    while len(taken) < count:
        amount = rng.between(11, 499)
        if amount not in taken:
            taken.append(amount)
    return tuple(map(Row, items[:count], kinds, taken))


def draw_items(seed: int) -> tuple[str, ...]:
    """All items in an order of which the first are in a table."""
    items = list(ITEMS)
    Rng.seeded(seed, 11).shuffle(items)
    return tuple(items)


def listed(rows: tuple[Row, ...], drawn: tuple[Row, ...], rng: Rng) -> tuple[Row, ...]:
    """Rows with other categories in another order, neither of which a list shows."""
    kept = sorted(rows, key=lambda row: row.item)
    rng.shuffle(kept)
    return tuple(replace(row, category=d.category) for row, d in zip(kept, drawn, strict=True))


@lru_cache(maxsize=1024)
def draw_form(look: int, style: int) -> Form:
    """A form; its looks and its style are drawn from seeds of their own."""
    seen, said = Rng.seeded(look, 13), Rng.seeded(style, 14)
    return Form(
        seen.choice(TITLES), seen.choice(BULLETS), seen.choice(SEPARATORS), bool(seen.below(2)),
        seen.choice(CASES), said.choice(SORTS), bool(said.below(2)), said.choice(CLOSING),
        said.choice(BANNED),
    )  # fmt: skip


def styled(form: Form) -> Iterator[Form]:
    """Forms of the same looks in every style."""
    for sort, total, words, banned in product(SORTS, (False, True), CLOSING, BANNED):
        yield replace(form, sort=sort, total=total, words=words, banned=banned)


@lru_cache(maxsize=1024)
def draw_changes(items: tuple[str, ...], seed: int, count: int) -> Changes:
    """One item gone, one with a new amount (above all of a table), and one more.

    The first `count` of the items are in the table.
    """
    rng = Rng.seeded(seed, 15)
    gone = rng.below(count)
    risen = (gone + 1 + rng.below(count - 1)) % count
    now = rng.between(500, 699)
    fresh = Row(rng.choice(items[count:]), rng.choice(CATEGORIES), rng.between(700, 899))
    return Changes(items[gone], items[risen], now, fresh)


def can_happen(changes: Changes, rows: tuple[Row, ...]) -> bool:
    """Whether rows have the items that change, and not the one that is new."""
    items = {row.item for row in rows}
    return {changes.gone, changes.risen} <= items and changes.fresh.item not in items


def updated(rows: tuple[Row, ...], changes: Changes) -> tuple[Row, ...]:
    """The rows after the changes."""
    kept = (row for row in rows if row.item != changes.gone)
    now = (Row(r.item, r.category, changes.now) if r.item == changes.risen else r for r in kept)
    return (*now, changes.fresh)


def in_order(rows: tuple[Row, ...], sort: str) -> list[Row]:
    """Rows in the order that a style asks for."""
    if sort == SORTS[2]:
        return sorted(rows, key=lambda row: row.item)
    return sorted(rows, key=lambda row: row.amount, reverse=sort == SORTS[0])


def in_case(item: str, case: str) -> str:
    """An item in capitals, in small letters, or with a capital first."""
    if case == CASES[0]:
        return item.upper()
    return item.lower() if case == CASES[1] else item.capitalize()


def write_line(row: Row, form: Form) -> str:
    """A row as a line of the list."""
    parts = [in_case(row.item, form.case), str(row.amount)]
    return form.bullet + form.separator.join(parts[::-1] if form.amount_first else parts)


def closing(form: Form) -> str:
    """A sentence with the number of words that a form asks for."""
    free = [word for word in WORDS if word != form.banned]
    return " ".join(free[: form.words]).capitalize() + "."


def write_list(rows: tuple[Row, ...], form: Form) -> str:
    """The whole list: a title, the lines, perhaps a total, and a closing sentence."""
    lines = [form.title, *(write_line(row, form) for row in in_order(rows, form.sort))]
    if form.total:
        lines.append(f"Total: {sum(row.amount for row in rows)}")
    return "\n".join([*lines, closing(form)])


def write_table(rows: tuple[Row, ...]) -> str:
    """Rows as comma-separated values."""
    return "\n".join(["item,category,amount", *(f"{r.item},{r.category},{r.amount}" for r in rows)])


def words_of(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return re.findall(r"[a-z0-9']+", text.lower())


def criteria(text: str, wanted: tuple[Row, ...], form: Form) -> dict[str, bool]:
    """Which rules a file meets: the first four are about its content, the others about its form.

    A file that names no row that is wanted meets none.
    """
    lines = [line.rstrip() for line in text.strip().splitlines() if line.strip()]
    lowered = [line.lower() for line in lines]
    named = {row: [n for n, line in enumerate(lowered) if row.item in line] for row in wanted}
    place = {row.item: places[0] if places else -1 for row, places in named.items()}
    found = [row for row in wanted if named[row]]
    names = {row.item for row in wanted}
    ordered = [place[row.item] for row in in_order(wanted, form.sort)]
    total = f"Total: {sum(row.amount for row in wanted)}"
    met = {
        "items": len(found) == len(wanted),
        "no others": not any(i in line for i in ITEMS if i not in names for line in lowered),
        "amounts": all(
            _numbers(lowered[n] for n in places) == {str(row.amount)}
            for row, places in named.items()
        ),
        "total": [x for x in lines if x.lower().startswith("total")] == [total]
        if form.total
        else not any("total" in x for x in lowered),
        "title": bool(lines) and lines[0] == form.title,
        "order": min(ordered, default=-1) >= 0 and ordered == sorted(set(ordered)),
        "lines": all(
            [lines[n] for n in places] == [write_line(row, form)] for row, places in named.items()
        ),
        "closing": len(lines) > 1 and _is_closing(lines[-1], place, len(lines), form),
        "banned word": form.banned not in words_of(text),
    }
    return {name: rule and bool(found) for name, rule in met.items()}


def wanted_share(text: str, wanted: tuple[Row, ...]) -> float:
    """The share of the rows that a file names which are wanted; 0 if it names none."""
    lowered = text.lower()
    named = {item for item in ITEMS if item in lowered}
    return len(named & {row.item for row in wanted}) / len(named) if named else 0.0


def _numbers(lines: Iterable[str]) -> set[str]:
    """The numbers that lines state."""
    return {number for line in lines for number in re.findall(r"\d+", line)}


def _is_closing(line: str, place: Mapping[str, int], count: int, form: Form) -> bool:
    """Whether the last line is a sentence of its own with the right number of words."""
    apart = count - 1 not in place.values() and not line.startswith("Total:")
    return apart and len(words_of(line)) == form.words and line[-1] in ".!?"


CONTENT = 4  # of the criteria, those that come first
