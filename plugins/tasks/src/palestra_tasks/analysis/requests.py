"""Figures that a request asks for: operations on sums of entries of a ledger, and their wording.

A part is a sum of the entries of a book that meet conditions, of a year or at the end of 2023. A
term adds and subtracts parts, and an operation makes a figure of one or two terms. Any part can
stand in any place of its kind, so that few requests have the same structure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from palestra_tasks.analysis.books import BOOKS, Entry, Ledger


@dataclass(frozen=True, slots=True)
class Condition:
    """A column that has a value or, unless `holds`, has another."""

    column: str
    value: str
    holds: bool

    def __str__(self) -> str:
        return f"{self.column} is {'' if self.holds else 'not '}{self.value}"


@dataclass(frozen=True, slots=True)
class Part:
    """The entries of a book that meet all conditions; year 0 for balances."""

    book: str
    where: tuple[Condition, ...]
    year: int

    def entries(self, ledger: Ledger) -> list[tuple[Entry, float]]:
        """The entries with what they are worth in the year."""
        columns, found = BOOKS[self.book].columns, ledger.books[self.book]
        for one in self.where:
            place = columns.index(one.column)
            found = tuple(e for e in found if (e.tags[place] == one.value) == one.holds)
        return ledger.worth(self.book, found, self.year)

    def total(self, ledger: Ledger) -> float:
        return sum(amount for _, amount in self.entries(ledger))

    def __str__(self) -> str:
        where = " and ".join(map(str, self.where))
        year = f" in {self.year}" if self.year else ""
        return f"{self.book}{f' where {where}' if where else ''}{year}"


@dataclass(frozen=True, slots=True)
class Term:
    """Parts that are added, or subtracted where the sign is -1."""

    parts: tuple[Part, ...]
    signs: tuple[int, ...]  # the first is 1

    def total(self, ledger: Ledger) -> float:
        pairs = zip(self.parts, self.signs, strict=True)
        return sum(sign * part.total(ledger) for part, sign in pairs)

    def year_before(self) -> Term:
        """The term of the year before."""
        return replace(self, parts=tuple(replace(part, year=part.year - 1) for part in self.parts))

    def __str__(self) -> str:
        text = str(self.parts[0])
        for part, sign in zip(self.parts[1:], self.signs[1:], strict=True):
            text += f" {'plus' if sign > 0 else 'less'} {part}"
        return f"[{text}]"


OPERATIONS = {
    "common": ("total", "growth", "share", "ratio", "margin"),
    "rare": ("days", "average", "run-rate", "value"),
}
# {0} and {1} are terms, {2} a multiple, {3} the number of a balance
WORDINGS = {
    "total": "{0}, in millions of EUR",
    "growth": "growth of {0} over the year before, in percent",
    "share": "{0} in percent of {1}",
    "ratio": "{0} divided by {1}",
    "margin": "{0} less {1}, in percent of the former",
    "days": "365 times {0} divided by {1}, in days",
    "average": "average of the {3} of {0}, weighted by amount",
    "run-rate": "12 times the monthly fees that run in the last month of the year, of {0}, in "
    "millions of EUR",
    "value": "{2} times {0}, less {1}, in millions of EUR",
}


@dataclass(frozen=True, slots=True)
class Ask:
    """A figure that is asked for."""

    operation: str
    terms: tuple[Term, ...]
    multiple: int = 0

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for term in self.terms for part in term.parts)

    def value(self, ledger: Ledger) -> float | None:
        """The figure, or None where it would be divided by less than a thousandth."""
        first, *others = (term.total(ledger) for term in self.terms)
        second = others[0] if others else 0.0
        if self.operation == "growth":
            second = self.terms[0].year_before().total(ledger)
        if self.divides_by(first, second) < 0.001:
            return None
        if self.operation == "average":
            entries = self.parts[0].entries(ledger)
            return sum(entry.number * amount for entry, amount in entries) / first
        if self.operation == "run-rate":
            return 12 * self.monthly(ledger)
        if self.operation in ("total", "value"):
            return (self.multiple or 1) * first - second
        if self.operation == "margin":
            return 100 * (first - second) / first
        if self.operation == "growth":
            return 100 * (first / second - 1)
        return {"share": 100, "ratio": 1, "days": 365}[self.operation] * first / second

    def divides_by(self, first: float, second: float) -> float:
        """What the figure is divided by; 1 where it is not."""
        if self.operation in ("share", "ratio", "days", "growth"):
            return second
        return first if self.operation in ("margin", "average") else 1.0

    def monthly(self, ledger: Ledger) -> float:
        """The fees of the last month of the year."""
        part = self.parts[0]
        last = ledger.last_month(part.year)
        running = [entry for entry, _ in part.entries(ledger) if entry.begins <= last <= entry.ends]
        return sum(entry.amount for entry in running)

    def __str__(self) -> str:
        first, *others = map(str, self.terms)
        number = BOOKS[self.parts[0].book].number
        second = others[0] if others else ""
        return WORDINGS[self.operation].format(first, second, self.multiple, number)


# Reading


@lru_cache(maxsize=64)
def _pattern(wording: str) -> re.Pattern[str]:
    """The expression that matches a wording, with its terms and its multiple in groups."""
    escaped = re.escape(wording)
    for place, group in ((0, r"\[(?P<first>.*?)\]"), (1, r"\[(?P<second>.*?)\]"),
                         (2, r"(?P<multiple>\d+)"), (3, ".*?")):  # fmt: skip
        escaped = escaped.replace(re.escape(f"{{{place}}}"), group)
    return re.compile(escaped)


def read_part(text: str) -> Part:
    """A part as it is written."""
    body, year = text, 0
    if found := re.fullmatch(r"(.*) in (\d{4})", text):
        body, year = found[1], int(found[2])
    book, _, where = body.partition(" where ")
    conditions = []
    for one in where.split(" and ") if where else ():
        column, _, value = one.partition(" is ")
        conditions.append(
            Condition(column, value.removeprefix("not "), not value.startswith("not "))
        )
    return Part(book, tuple(conditions), year)


def read_term(text: str) -> Term:
    """A term as it is written, without its brackets."""
    first, *rest = re.split(r" (plus|less) ", text)
    signs = tuple(1 if word == "plus" else -1 for word in rest[::2])
    return Term(tuple(map(read_part, (first, *rest[1::2]))), (1, *signs))


def read_ask(text: str) -> Ask:
    """A figure as it is asked for."""
    for operation, wording in WORDINGS.items():
        if found := _pattern(wording).fullmatch(text):
            said = found.groupdict()
            terms = [said[name] for name in ("first", "second") if said.get(name)]
            return Ask(operation, tuple(map(read_term, terms)), int(said.get("multiple") or 0))
    raise ValueError(f"no figure is asked for in these words: {text}")
