"""What the apps hold, and what a play has changed in it.

Every row is a frozen value with a number; an app changes by putting other rows in their place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

ME = "robin.hale@home.example"
TABLES = ("mails", "meetings", "payments", "asks", "files")
OPEN, PAID, DECLINED = "open", "paid", "declined"
R = TypeVar("R", bound="Row")


class Row(msgspec.Struct, frozen=True):
    """Something an app holds; `checked` is what of it counts: not a note nobody asked for."""

    id: int


class Person(msgspec.Struct, frozen=True):
    """An entry of the address book."""

    name: str
    address: str


class Mail(Row, frozen=True):
    folder: str
    sender: str
    to: str
    subject: str
    text: str
    day: str

    @property
    def checked(self) -> tuple[Any, ...]:
        text = " ".join(self.text.split())
        return (self.folder, self.sender, self.to, self.subject, text)


class Meeting(Row, frozen=True):
    """`guest` is an address, `start` a time as 09:30."""

    title: str
    guest: str
    day: str
    start: str
    minutes: int

    @property
    def checked(self) -> tuple[Any, ...]:
        return (self.title, self.guest, self.day, self.start, self.minutes)


class Payment(Row, frozen=True):
    """Money that has gone from one address to another, in cents."""

    sender: str
    to: str
    amount: int
    note: str
    day: str

    @property
    def checked(self) -> tuple[Any, ...]:
        return (self.sender, self.to, self.amount)


class Ask(Row, frozen=True):
    """`sender` asks `to` for money."""

    sender: str
    to: str
    amount: int
    note: str
    status: str = OPEN

    @property
    def checked(self) -> tuple[Any, ...]:
        return (self.sender, self.to, self.amount, self.status)


class File(Row, frozen=True):
    name: str
    text: str

    @property
    def checked(self) -> tuple[Any, ...]:
        return (self.name, self.text.strip())


class Change(msgspec.Struct, frozen=True):
    """A difference: `row` is what counts of it, after its number where it had one before."""

    what: str
    table: str
    row: tuple[Any, ...]


@dataclass(slots=True)
class Apps:
    """All that is in the apps of one person; `funds` is what the account held at first."""

    today: str
    funds: int
    people: tuple[Person, ...]
    strangers: tuple[str, ...]
    mails: list[Mail] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    last: int = 0

    def number(self) -> int:
        """A number for a new row; no number is used twice."""
        self.last += 1
        return self.last

    def mail(self, to: str, subject: str, text: str) -> None:
        self.mails.append(Mail(self.number(), "sent", ME, to, subject, text, self.today))

    def pay(self, to: str, amount: int, note: str) -> None:
        self.payments.append(Payment(self.number(), ME, to, amount, note, self.today))

    @property
    def balance(self) -> int:
        """What is left of the funds after what has been paid today."""
        return self.funds - sum(
            p.amount for p in self.payments if p.sender == ME and p.day == self.today
        )

    def knows(self, address: str) -> bool:
        """Whether somebody has an address."""
        return address in self.strangers or any(p.address == address for p in self.people)


def find(rows: Iterable[R], number: str) -> R | None:
    """The row of a number as an address has it."""
    return next((row for row in rows if str(row.id) == number), None)


def put(rows: list[R], row: R) -> None:
    """Put a row in the place of the one with its number."""
    rows[next(i for i, old in enumerate(rows) if old.id == row.id)] = row


def drop(rows: list[R], row: R) -> None:
    rows[:] = [old for old in rows if old.id != row.id]


def changes(before: Apps, after: Apps) -> Counter[Change]:
    """Every difference between two states of the apps."""
    found: Counter[Change] = Counter()
    for table in TABLES:
        old = {row.id: row for row in getattr(before, table)}
        new = {row.id: row for row in getattr(after, table)}
        found.update(Change("removed", table, (n,)) for n in old.keys() - new.keys())
        found.update(Change("added", table, new[n].checked) for n in new.keys() - old.keys())
        found.update(
            Change("changed", table, (n, *new[n].checked))
            for n in old.keys() & new.keys()
            if new[n] != old[n]
        )
    return found


def verdicts(wanted: Iterable[Change], found: Counter[Change]) -> list[bool]:
    """The tests of a play: each wanted change is there, and nothing else has changed."""
    left = Counter(found)
    passed = []
    for change in wanted:
        passed.append(left[change] > 0)
        if left[change]:
            left[change] -= 1
    return [*passed, not +left]


def dollars(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"
