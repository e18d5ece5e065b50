"""The rows in the apps, and the changes that an episode has made to them.

Every row is a frozen value with a number; an app changes when a row is replaced.
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
R = TypeVar("R", bound="AppRow")


class AppRow(msgspec.Struct, frozen=True):
    """A row of an app.

    `checked_values` are compared at the end; they leave out free-text notes that no errand asks
    for.
    """

    id: int


class Person(msgspec.Struct, frozen=True):
    """An entry of the address book."""

    name: str
    address: str


class Mail(AppRow, frozen=True):
    """A mail that was received or sent."""

    folder: str  # "inbox" or "sent"
    sender: str  # an address
    to: str  # an address
    subject: str
    text: str
    day: str  # as 2025-03-14

    @property
    def checked_values(self) -> tuple[Any, ...]:
        text = " ".join(self.text.split())
        return (self.folder, self.sender, self.to, self.subject, text)


class Meeting(AppRow, frozen=True):
    """An entry of the calendar."""

    title: str
    guest: str  # an address
    day: str
    start: str  # a time as 09:30
    minutes: int

    @property
    def checked_values(self) -> tuple[Any, ...]:
        return (self.title, self.guest, self.day, self.start, self.minutes)


class Payment(AppRow, frozen=True):
    """Money that was paid from one address to another."""

    sender: str
    to: str
    amount: int  # in cents
    note: str
    day: str

    @property
    def checked_values(self) -> tuple[Any, ...]:
        return (self.sender, self.to, self.amount)


class Ask(AppRow, frozen=True):
    """A request of `sender` for money from `to`."""

    sender: str
    to: str
    amount: int  # in cents
    note: str
    status: str = OPEN  # or PAID or DECLINED

    @property
    def checked_values(self) -> tuple[Any, ...]:
        return (self.sender, self.to, self.amount, self.status)


class File(AppRow, frozen=True):
    """A file of text."""

    name: str
    text: str

    @property
    def checked_values(self) -> tuple[Any, ...]:
        return (self.name, self.text.strip())


class AppChange(msgspec.Struct, frozen=True):
    """A difference between two states of the apps."""

    what: str  # "added", "changed" or "removed"
    table: str  # one of TABLES
    row: tuple[Any, ...]  # the row's number unless it was added, then its checked values


@dataclass(slots=True)
class Apps:
    """Everything in the apps of one person."""

    today: str
    funds: int  # cents in the account at the start
    people: tuple[Person, ...]  # the address book
    strangers: tuple[str, ...]  # addresses outside it
    mails: list[Mail] = field(default_factory=list)
    meetings: list[Meeting] = field(default_factory=list)
    payments: list[Payment] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    last: int = 0  # the last number given to a row

    def number(self) -> int:
        """A number for a new row; no number is used twice."""
        self.last += 1
        return self.last

    def mail(self, to: str, subject: str, text: str) -> None:
        """Send a mail."""
        self.mails.append(Mail(self.number(), "sent", ME, to, subject, text, self.today))

    def pay(self, to: str, amount: int, note: str) -> None:
        """Pay an amount in cents."""
        self.payments.append(Payment(self.number(), ME, to, amount, note, self.today))

    @property
    def balance(self) -> int:
        """The cents that are left after today's payments."""
        return self.funds - sum(
            p.amount for p in self.payments if p.sender == ME and p.day == self.today
        )

    def knows(self, address: str) -> bool:
        """Whether somebody has an address."""
        return address in self.strangers or any(p.address == address for p in self.people)


def find(rows: Iterable[R], number: str) -> R | None:
    """The row with a number, which is written as in an address; None if there is none."""
    return next((row for row in rows if str(row.id) == number), None)


def put(rows: list[R], row: R) -> None:
    """Replace the row that has this row's number."""
    rows[next(i for i, old in enumerate(rows) if old.id == row.id)] = row


def drop(rows: list[R], row: R) -> None:
    """Remove a row."""
    rows[:] = [old for old in rows if old.id != row.id]


def changes(before: Apps, after: Apps) -> Counter[AppChange]:
    """Every difference between two states of the apps."""
    found: Counter[AppChange] = Counter()
    for table in TABLES:
        old = {row.id: row for row in getattr(before, table)}
        new = {row.id: row for row in getattr(after, table)}
        found.update(AppChange("removed", table, (n,)) for n in old.keys() - new.keys())
        found.update(
            AppChange("added", table, new[n].checked_values) for n in new.keys() - old.keys()
        )
        found.update(
            AppChange("changed", table, (n, *new[n].checked_values))
            for n in old.keys() & new.keys()
            if new[n] != old[n]
        )
    return found


def verdicts(wanted: Iterable[AppChange], found: Counter[AppChange]) -> list[bool]:
    """The tests of an episode: one per wanted change, and one that nothing else has changed."""
    left = Counter(found)
    passed = []
    for change in wanted:
        passed.append(left[change] > 0)
        if left[change]:
            left[change] -= 1
    return [*passed, not +left]


def dollars(cents: int) -> str:
    """An amount in dollars, as 12.50."""
    return f"{cents // 100}.{cents % 100:02}"
