"""Orders: composed requests that say which rows of a table are wanted and how amounts change.

An order is a condition, built of comparisons, and a chain of changes, each for the rows of a
comparison. Changes follow each other, so that an amount that was changed is compared as it is then.
The request has the condition and the first changes; a note has the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from palestra import Rng

from palestra_tasks.office.lists import CATEGORIES, ITEMS, Row

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri")
PAYERS = ("Ada", "Ben", "Cleo", "Dan")
LIMITS = range(100, 401, 50)
NUMBERS = range(5, 61, 5)
# By size: comparisons of the condition, changes in the request and in the note
SIZES = {"small": (2, 1, 1), "medium": (3, 1, 2), "large": (4, 2, 2)}
CHANGES = {"common": ("add", "take", "double"), "rare": ("halve", "round", "at least")}


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the table."""

    item: str
    category: str
    amount: int
    day: str
    payer: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column compared with a value, as in 'amount is over 150'."""

    column: str
    how: str
    value: str

    def holds(self, entry: Entry) -> bool:
        if self.column == "amount":
            return (entry.amount > int(self.value)) == (self.how == "is over")
        seen = entry.day if self.column == "day" else getattr(entry, self.column)
        if self.how == "is before":
            return DAYS.index(seen) < DAYS.index(self.value)
        return (seen == self.value) == (self.how == "is")

    def __str__(self) -> str:
        return f"{self.column} {self.how} {self.value}"


@dataclass(frozen=True, slots=True)
class Condition:
    """Comparisons joined from the left, as in '(A and B) or C'."""

    parts: tuple[Comparison, ...]
    joins: tuple[str, ...]  # "and", "or"; one fewer than parts

    def holds(self, entry: Entry) -> bool:
        held = self.parts[0].holds(entry)
        for join, part in zip(self.joins, self.parts[1:], strict=True):
            held = (held and part.holds(entry)) if join == "and" else (held or part.holds(entry))
        return held

    def __str__(self) -> str:
        text = str(self.parts[0])
        for n, (join, part) in enumerate(zip(self.joins, self.parts[1:], strict=True)):
            text = f"{f'({text})' if n else text} {join} {part}"
        return text


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the amounts of some rows."""

    kind: str
    number: int
    where: Comparison

    def applied(self, entry: Entry) -> Entry:
        if not self.where.holds(entry):
            return entry
        amount, number = entry.amount, self.number
        after = {
            "add": amount + number,
            "take": amount - number,
            "double": 2 * amount,
            "halve": amount // 2,
            "round": -(-amount // 10) * 10,
            "at least": max(amount, 3 * number),
        }[self.kind]
        return replace(entry, amount=after)

    def __str__(self) -> str:
        said = {
            "add": f"add {self.number} to the amount",
            "take": f"take {self.number} off the amount",
            "double": "double the amount",
            "halve": "halve the amount, rounded down,",
            "round": "round the amount up to a multiple of 10",
            "at least": f"raise an amount below {3 * self.number} to {3 * self.number}",
        }[self.kind]
        return f"{said} where {self.where}"


@dataclass(frozen=True, slots=True)
class Order:
    """Which rows are wanted, by the table as it stands, and how amounts change then."""

    size: str
    pool: str  # of changes
    condition: Condition
    asked: tuple[Change, ...]  # in the request
    noted: tuple[Change, ...]  # in the note

    def stages(self, table: tuple[Entry, ...]) -> list[tuple[Entry, ...]]:
        """The rows that are wanted, as they stand at first and after each change."""
        found = [tuple(entry for entry in table if self.condition.holds(entry))]
        for change in (*self.asked, *self.noted):
            found.append(tuple(map(change.applied, found[-1])))
        return found

    def rows(self, table: tuple[Entry, ...]) -> tuple[Row, ...]:
        """The rows that are wanted."""
        return tuple(Row(e.item, e.category, e.amount) for e in self.stages(table)[-1])

    def fits(self, table: tuple[Entry, ...]) -> bool:
        """Whether some rows are wanted and not all, and each change has an effect.

        Amounts are above 0 and differ, so that their order is clear.
        """
        stages = self.stages(table)
        amounts = {entry.amount for entry in stages[-1]}
        clear = len(amounts) == len(stages[-1]) and min(amounts, default=0) > 0
        changed = all(one != other for one, other in pairwise(stages))
        return clear and changed and 1 < len(amounts) < len(table)


def said(changes: tuple[Change, ...]) -> str:
    """Changes in their order."""
    return "; then ".join(map(str, changes))


def draw_comparison(rng: Rng) -> Comparison:
    column = rng.choice(("category", "amount", "day", "payer"))
    how, values = {
        "category": (("is", "is not"), CATEGORIES),
        "amount": (("is over", "is at most"), tuple(map(str, LIMITS))),
        "day": (("is", "is before"), DAYS[1:]),
        "payer": (("is", "is not"), PAYERS),
    }[column]
    return Comparison(column, rng.choice(how), rng.choice(values))


def draw_changes_of(rng: Rng, pool: str, count: int) -> tuple[Change, ...]:
    """Changes of a pool, one after another."""
    kinds = CHANGES["common"] + CHANGES["rare"] if pool == "all" else CHANGES[pool]
    return tuple(
        Change(rng.choice(kinds), rng.choice(NUMBERS), draw_comparison(rng)) for _ in range(count)
    )


def draw_order(rng: Rng, size: str, pool: str) -> Order:
    """An order of a size, with changes of a pool."""
    parts, asked, noted = SIZES[size]
    joins = tuple(rng.choice(("and", "or")) for _ in range(parts - 1))
    condition = Condition(tuple(draw_comparison(rng) for _ in range(parts)), joins)
    first, rest = draw_changes_of(rng, pool, asked), draw_changes_of(rng, pool, noted)
    return Order(size, pool, condition, first, rest)


def draw_table(rng: Rng, count: int) -> tuple[Entry, ...]:
    """A table of different items."""
    items = list(ITEMS)
    rng.shuffle(items)
    return tuple(
        Entry(
            item, rng.choice(CATEGORIES), rng.between(20, 499), rng.choice(DAYS), rng.choice(PAYERS)
        )
        for item in items[:count]
    )


def table_text(table: tuple[Entry, ...]) -> str:
    """A table as comma-separated values."""
    lines = [f"{e.item},{e.category},{e.amount},{e.day},{e.payer}" for e in table]
    return "\n".join(["item,category,amount,day,payer", *lines])


def draw_work(rng: Rng, size: str, pool: str, count: int) -> tuple[Order, tuple[Entry, ...]]:
    """An order and a table that it fits."""
    while True:
        order, table = draw_order(rng, size, pool), draw_table(rng, count)
        if order.fits(table):
            return order, table


def imagine_work(
    order: Order, table: tuple[Entry, ...], rng: Rng, *, note: bool, rows: bool
) -> tuple[Order, tuple[Entry, ...]]:
    """An order and a table with the note drawn anew unless it was read, and so the rows."""
    while True:
        noted = order.noted
        if not note:
            noted = draw_changes_of(rng, order.pool, len(noted))
        drawn = replace(order, noted=noted)
        entries = table if rows else draw_table(rng, len(table))
        if drawn.fits(entries):
            return drawn, entries


# Reading

FORMS = {
    "add": r"add (\d+) to the amount",
    "take": r"take (\d+) off the amount",
    "double": r"double the amount",
    "halve": r"halve the amount, rounded down,",
    "round": r"round the amount up to a multiple of 10",
    "at least": r"raise an amount below (\d+) to \d+",
}


def read_comparison(text: str) -> Comparison:
    """A comparison as it is written."""
    column, value = text.split()[0], text.split()[-1]
    return Comparison(column, text.removeprefix(column).removesuffix(value).strip(), value)


def read_change(text: str) -> Change:
    """A change as it is written."""
    what, _, where = text.partition(" where ")
    kind, found = next((k, m) for k, form in FORMS.items() if (m := re.fullmatch(form, what)))
    number = int(found[1]) if found.groups() else 0
    return Change(kind, number // 3 if kind == "at least" else number, read_comparison(where))


def read_order(condition: str, changes: Iterable[str]) -> Order:
    """An order as it is written, all of its changes in the request."""
    words = condition.replace("(", "").replace(")", "")
    parts = re.split(r" (?:and|or) ", words)
    joins = tuple(re.findall(r" (and|or) ", words))
    joined = Condition(tuple(map(read_comparison, parts)), joins)
    return Order("", "", joined, tuple(map(read_change, changes)), ())
