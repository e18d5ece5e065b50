"""Data rooms drawn from parts: books of a company in files of several forms, and what is asked.

Everybody knows the plan (`Plan`): which books there are, in which form, how many entries each has,
by which values they can be chosen, and the figures that are asked for. Hidden is what the files
say, a seed for each. A room is drawn again until each step that its files ask for changes a figure
(`Room.fits`): whoever leaves one out is wrong somewhere.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TypeVar

from palestra import Rng

from palestra_tasks.analysis.books import (
    BOOKS,
    FORMS,
    HOME,
    IN_NOTES,
    IN_SHEETS,
    MID_YEAR,
    PARTNERS,
    VALUES,
    YEARS,
    Book,
    Ledger,
    Notes,
    Row,
    Sheet,
    ledger,
    write_notes,
    write_sheet,
)
from palestra_tasks.analysis.requests import OPERATIONS, Ask, Condition, Part, Term

T = TypeVar("T")

NOTES = "notes.txt"
MONTHS = 12 * len(YEARS)
ODD = 3  # entries of a sheet that a trap concerns
CHANGED = 0.02  # by which share a figure changes at least if a step is left out
OFFERED = 3  # values of a column


@dataclass(frozen=True, slots=True)
class Size:
    """How large a room is."""

    books: int
    flows: int  # entries of a book with quarters
    others: int  # entries of another book
    figures: int
    parts: int  # of a term, at most
    conditions: tuple[int, int]  # of a part, at least and at most
    in_sheets: int  # steps that each sheet asks for
    in_notes: int  # steps that the notes ask for


SIZES = {
    "small": Size(2, 20, 10, 3, 1, (0, 1), 1, 1),
    "medium": Size(3, 28, 14, 4, 2, (0, 2), 1, 2),
    "large": Size(4, 36, 18, 5, 3, (1, 2), 2, 2),
}


@dataclass(frozen=True, slots=True)
class Planned:
    """A book of a room."""

    name: str
    form: str
    values: tuple[tuple[str, ...], ...]  # of its columns
    count: int  # entries

    @property
    def book(self) -> Book:
        return BOOKS[self.name]

    @property
    def file(self) -> str:
        return f"{self.name}.{FORMS[self.form]}"

    def __str__(self) -> str:
        columns = zip(self.book.columns, self.values, strict=True)
        told = " and ".join(f"{column} ({', '.join(values)})" for column, values in columns)
        what = {
            "flow": "by quarter",
            "contract": "with their monthly fees",
            "balance": f"at the end of {YEARS[-1]}",
        }
        return f"{self.file}: {self.count} entries {what[self.book.kind]}, by {told}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What everybody knows of a room."""

    size: str
    pool: str  # of operations and steps: "common", "rare" or "all"
    books: tuple[Planned, ...]
    asks: tuple[Ask, ...]

    @property
    def files(self) -> tuple[str, ...]:
        return (*(book.file for book in self.books), NOTES)


def _of_pool(kinds: dict[str, tuple[str, ...]], pool: str) -> tuple[str, ...]:
    return kinds["common"] + kinds["rare"] if pool == "all" else kinds[pool]


def _some(rng: Rng, items: Iterable[T], count: int) -> list[T]:
    """Different items, in a drawn order."""
    drawn = list(items)
    rng.shuffle(drawn)
    return drawn[:count]


# The plan


def draw_plan(rng: Rng, size: str, pool: str) -> Plan:
    """A plan whose figures differ and need all books.

    In the pool "rare" half of the rooms with more than two books have contracts, and a figure of
    a whole year needs them.
    """
    while True:
        by_contract = pool == "rare" and SIZES[size].books > 2 and rng.below(2) == 0
        books = _draw_books(rng, SIZES[size], always=("contracts",) * by_contract)
        asks = tuple(
            _draw_ask(rng, books, size=size, pool=pool) for _ in range(SIZES[size].figures)
        )
        used = {part.book for ask in asks for part in ask.parts}
        yearly = {part.book for ask in asks if ask.operation != "run-rate" for part in ask.parts}
        if by_contract and "contracts" not in yearly:
            continue
        if len(set(asks)) == len(asks) and used == {book.name for book in books}:
            return Plan(size, pool, books, asks)


def _draw_books(rng: Rng, size: Size, always: tuple[str, ...] = ()) -> tuple[Planned, ...]:
    """Sales, a book of balances at least, those of `always`, and others."""
    balance = rng.choice([name for name, book in BOOKS.items() if book.kind == "balance"])
    names = ["sales", balance, *always]
    rest = [name for name in BOOKS if name not in names]
    names += _some(rng, rest, size.books - len(names))
    values = {column: tuple(_some(rng, VALUES[column], OFFERED)) for column in VALUES}
    return tuple(
        Planned(
            name,
            rng.choice(tuple(FORMS)),
            tuple(values[column] for column in BOOKS[name].columns),
            size.flows if BOOKS[name].kind == "flow" else size.others,
        )
        for name in names
    )


def _groups(books: tuple[Planned, ...]) -> dict[str, list[Planned]]:
    """The books of which each kind of term is made."""
    flows = [book for book in books if book.book.kind != "balance"]
    balances = [book for book in books if book.book.kind == "balance"]
    return {
        "flows": flows,
        "balances": balances,
        "income": [book for book in flows if book.book.leads],
        "costs": [book for book in flows if not book.book.leads],
        "debts": [book for book in balances if book.book.leads],
        "contracts": [book for book in flows if book.book.kind == "contract"],
    }


# The terms of each operation; in "any", flows or balances
TERMS = {
    "total": ("any",),
    "growth": ("flows",),
    "share": ("any",),
    "ratio": ("any", "any"),
    "margin": ("income", "costs"),
    "days": ("balances", "flows"),
    "average": ("balances",),
    "run-rate": ("contracts",),
    "value": ("flows", "debts"),
}


def _draw_ask(rng: Rng, books: tuple[Planned, ...], *, size: str, pool: str) -> Ask:
    """A figure from the books."""
    groups = _groups(books)
    possible = [o for o in _of_pool(OPERATIONS, pool) if all(groups.get(t, 1) for t in TERMS[o])]
    operation, year = rng.choice(possible), rng.choice(YEARS[1:])
    year = YEARS[-1] if operation == "growth" else year
    most = 1 if operation in ("share", "average", "run-rate") else SIZES[size].parts
    terms = tuple(
        _draw_term(
            rng,
            groups[rng.choice(("flows", "balances")) if kind == "any" else kind],
            year=year, size=SIZES[size], most=most, mixed=not place,
        )
        for place, kind in enumerate(TERMS[operation])
    )  # fmt: skip
    if operation == "share":
        return _draw_share(rng, terms[0], books)
    return Ask(operation, terms, rng.between(4, 12) if operation == "value" else 0)


def _draw_term(
    rng: Rng, books: list[Planned], *, year: int, size: Size, most: int, mixed: bool
) -> Term:
    """A term of parts of different books: if `mixed`, income less costs, or debts less assets."""
    chosen = _some(rng, books, rng.between(1, min(most, len(books))))
    if not mixed:
        chosen = [book for book in chosen if book.book.leads == chosen[0].book.leads]
    chosen.sort(key=lambda book: not book.book.leads)
    parts = tuple(_draw_part(rng, book, year=year, size=size) for book in chosen)
    leads = chosen[0].book.leads
    return Term(parts, tuple(1 if book.book.leads == leads else -1 for book in chosen))


def _draw_part(rng: Rng, book: Planned, *, year: int, size: Size) -> Part:
    """A part; of two conditions one at least excludes a value."""
    columns = _some(rng, book.book.columns, rng.between(*size.conditions))
    where = tuple(
        Condition(
            column, rng.choice(book.values[book.book.columns.index(column)]),
            not number and rng.below(3) >= len(columns),
        )
        for number, column in enumerate(columns)
    )  # fmt: skip
    return Part(book.name, where, 0 if book.book.kind == "balance" else year)


def _draw_share(rng: Rng, term: Term, books: tuple[Planned, ...]) -> Ask:
    """The share of a part in the same part without its first condition, which it has."""
    part = term.parts[0]
    if not part.where:
        book = next(book for book in books if book.name == part.book)
        place = rng.below(len(book.values))
        value = rng.choice(book.values[place])
        part = replace(part, where=(Condition(book.book.columns[place], value, True),))
    whole = replace(part, where=part.where[1:])
    return Ask("share", (Term((part,), (1,)), Term((whole,), (1,))))


# The files


@lru_cache(maxsize=1024)
def draw_sheet(book: Planned, seed: int, pool: str, steps: int) -> Sheet:
    """What the file of a book says: its entries, with the steps that some of them ask for."""
    rng = Rng.seeded(seed, 61)
    asked = _some(rng, _of_pool(IN_SHEETS, pool), steps)
    rows = [_draw_row(rng, book, entry) for entry in range(1, book.count + 1)]
    odd = {kind: _some(rng, range(book.count), ODD) for kind in asked}
    for place in odd.get("currency", ()):
        rows[place] = replace(rows[place], currency=rng.choice(("USD", "GBP")))
    for place in odd.get("brackets", ()):
        rows[place] = replace(rows[place], amount=-rows[place].amount)
    for place in odd.get("plan", ()):
        rows[place] = replace(rows[place], planned=True)
    twice = [rows[place] for place in odd.get("duplicate", ())]
    for row in twice:
        rows.insert(rng.below(len(rows) + 1), row)
    return Sheet("thousands" in asked, "plan" in asked, tuple(rows))


def _draw_row(rng: Rng, book: Planned, entry: int) -> Row:
    """An entry of a book, actual and in the currency of the company."""
    tags = tuple(rng.choice(values) for values in book.values)
    begins = ends = number = 0
    amount = 100 * rng.between(20, 999)
    if book.book.kind == "flow":
        begins = 3 * rng.below(MONTHS // 3)
        ends = begins + 2
    elif book.book.kind == "contract":
        begins = rng.between(0, MONTHS - 6)
        ends = rng.between(begins + 2, MONTHS + 12)
        amount = 100 * rng.between(2, 40)
    else:
        number = rng.between(10, 99)
    return Row(entry, tags, begins, ends, number, rng.choice(PARTNERS), HOME, amount)


@lru_cache(maxsize=1024)
def draw_notes(plan: Plan, seed: int) -> Notes:
    """What the notes of a room say."""
    rng, size = Rng.seeded(seed, 62), SIZES[plan.size]
    asked = _some(rng, _of_pool(IN_NOTES, plan.pool), size.in_notes)
    rates = (("USD", rng.between(80, 97) / 100), ("GBP", rng.between(108, 125) / 100))
    group, closing = rng.choice(PARTNERS), rng.choice((3, 6, 9))
    restated = [_draw_restated(rng, book) for book in plan.books]
    flows = [book for book in plan.books if book.book.kind == "flow"]
    moved = [
        (book.name, rng.between(1, book.count), 3 * rng.below(MONTHS // 3))
        for book in flows
        for _ in range(ODD)
    ]
    return Notes(
        rates if "currency" in _of_pool(IN_SHEETS, plan.pool) else (),
        group if "group" in asked else "",
        tuple(restated) if "restated" in asked else (),
        tuple({one[:2]: one for one in moved}.values()) if "moved" in asked else (),
        _draw_left_out(rng, plan) if "left out" in asked else None,
        closing if "fiscal" in asked else 12,
    )


def _draw_left_out(rng: Rng, plan: Plan) -> tuple[str, str, str]:
    """A value of a column whose entries are left out, which no condition of its book names."""
    named = {(p.book, one.value) for ask in plan.asks for p in ask.parts for one in p.where}
    free = [
        (book.name, column, value)
        for book in plan.books
        for column, values in zip(book.book.columns, book.values, strict=True)
        for value in values
    ]
    return rng.choice([one for one in free if (one[0], one[2]) not in named] or free)


def _draw_restated(rng: Rng, book: Planned) -> tuple[str, int, int]:
    low, high = (2, 40) if book.book.kind == "contract" else (20, 999)
    return (book.name, rng.between(1, book.count), 100 * rng.between(low, high))


def steps_in(sheet: Sheet) -> set[str]:
    """The steps that a sheet asks for."""
    rows = sheet.rows
    asked = {
        "thousands": sheet.thousands,
        "duplicate": len({row.entry for row in rows}) < len(rows),
        "currency": any(row.currency != HOME for row in rows),
        "brackets": any(row.amount < 0 for row in rows),
        "plan": any(row.planned for row in rows),
    }
    return {kind for kind, is_asked in asked.items() if is_asked}


@dataclass(frozen=True)
class Room:
    """A plan and the seeds of its files, the notes' last."""

    plan: Plan
    seeds: tuple[int, ...]

    @cached_property
    def sheets(self) -> dict[str, Sheet]:
        steps = SIZES[self.plan.size].in_sheets
        pairs = zip(self.plan.books, self.seeds, strict=False)
        return {book.name: draw_sheet(book, seed, self.plan.pool, steps) for book, seed in pairs}

    @cached_property
    def notes(self) -> Notes:
        return draw_notes(self.plan, self.seeds[-1])

    @cached_property
    def files(self) -> dict[str, str]:
        """The text of every file."""
        plan = self.plan
        books = {b.file: write_sheet(b.name, self.sheets[b.name], b.form) for b in plan.books}
        return {**books, NOTES: write_notes(self.notes)}

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """The steps that the files ask for."""
        yearly = [ask for ask in self.plan.asks if ask.operation != "run-rate"]
        part_years = any(part.book == "contracts" for ask in yearly for part in ask.parts)
        asked = set().union(self.notes.kinds, *map(steps_in, self.sheets.values()))
        return tuple(sorted(asked | ({MID_YEAR} if part_years else set())))

    @cached_property
    def ledger(self) -> Ledger:
        """The entries that count."""
        return ledger(self.sheets, self.notes)

    @cached_property
    def values(self) -> tuple[float | None, ...]:
        """The figures that are asked for."""
        return tuple(ask.value(self.ledger) for ask in self.plan.asks)

    def changed_by(self, step: str) -> Iterator[bool]:
        """For each figure, whether it is another one if a step is left out."""
        other = ledger(self.sheets, self.notes, frozenset([step]))
        for ask, value in zip(self.plan.asks, self.values, strict=True):
            wrong = ask.value(other)
            yield value is None or wrong is None or not math.isclose(value, wrong, rel_tol=CHANGED)

    def fits(self) -> bool:
        """Whether every part has entries, every figure a value, and every step an effect."""
        if not all(part.entries(self.ledger) for ask in self.plan.asks for part in ask.parts):
            return False
        if any(value is None or not 0.05 < abs(value) < 1e6 for value in self.values):
            return False
        return all(any(self.changed_by(step)) for step in self.steps)


def draw_room(rng: Rng, size: str, pool: str) -> Room:
    """A room that fits."""
    while True:
        plan = draw_plan(rng, size, pool)
        room = Room(plan, tuple(rng.word() for _ in plan.files))
        if room.fits():
            return room


def imagine_room(true: Room, opened: Collection[str], rng: Rng) -> Room:
    """A room of the same plan that fits, with the files that were not opened drawn anew."""
    pairs = list(zip(true.plan.files, true.seeds, strict=True))
    while len(opened) < len(pairs):
        seeds = tuple(seed if file in opened else rng.word() for file, seed in pairs)
        room = Room(true.plan, seeds)
        if room.fits():
            return room
    return true
