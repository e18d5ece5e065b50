"""Scenarios and errands, drawn together: the request, and exactly the changes it requires."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import msgspec

from palestra_web.apps.drawing import RecordedDraw
from palestra_web.apps.rows import (
    DECLINED,
    ME,
    OPEN,
    PAID,
    AppChange,
    Apps,
    Ask,
    File,
    Mail,
    Meeting,
    Payment,
    Person,
    dollars,
)
from palestra_web.apps.words import (
    CHAT,
    MEETINGS,
    NAMES,
    PAPERS,
    REGRETS,
    REPLIES,
    SHOPS,
    STRANGE_PLACES,
    THINGS,
)
from palestra_web.shop.catalogue import Draw

FIRST_HOUR, LAST_HOUR = 9, 17
AGAIN = " again"  # ends the subject of a mail that settles a demand
PEOPLE = 8  # in the address book
FUNDS = 100_000, 200_000  # cents in the account at the start: least, and one more than most
_DEMAND = re.compile(r"Could you send me (\d+)\.(\d\d) dollars for the ")
SENT = ("sent", ME)


class Debt(msgspec.Struct, frozen=True):
    """Money that a person has asked for by mail."""

    person: Person
    amount: int  # in cents
    day: str  # of the mail, as 2025-03-14
    settled: bool  # whether the person has written later that it is settled


class Errand(msgspec.Struct, frozen=True):
    """A request, and the changes and the answer that it requires."""

    kind: str  # one of ERRANDS
    text: str
    phrases: tuple[str, ...]  # parts of the text that a player may want to type
    wanted: tuple[AppChange, ...] = ()  # these changes and no others
    truth: str = ""  # the right answer; empty where none is asked for
    choices: tuple[Any, ...] = ()  # what was drawn for it, all of which the text tells


class Scenario(msgspec.Struct, frozen=True):
    """The apps at the start."""

    apps: Apps

    @property
    def today(self) -> date:
        return date.fromisoformat(self.apps.today)

    @property
    def debts(self) -> tuple[Debt, ...]:
        """The debts mentioned in the mails, in order of the mails."""
        by_address = {person.address: person for person in self.apps.people}
        settled = {mail.subject for mail in self.apps.mails if mail.subject.endswith(AGAIN)}
        return tuple(
            Debt(by_address[mail.sender], amount, mail.day, f"{mail.subject}{AGAIN}" in settled)
            for mail in self.apps.mails
            if (amount := demanded(mail))
        )


def between(chance: Draw, low: int, high: int) -> int:
    """A whole number from low to high."""
    return low + chance.below(high - low + 1)


def workdays(start: date, count: int) -> list[date]:
    """The next `count` days after `start` that are not on a weekend."""
    days = (start + timedelta(n) for n in range(1, 3 * count + 3))
    return [day for day in days if day.weekday() < 5][:count]


def clock(minutes: int) -> str:
    """A time of day, as 09:30, from the minutes since midnight."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def minutes_of(time: str) -> int:
    """The minutes since midnight of a time such as 09:30."""
    return 60 * int(time[:2]) + int(time[3:])


def first_free(meetings: Sequence[Meeting], day: str, minutes: int) -> str | None:
    """The first start, on the hour or half hour from 09:00, that leaves time until 17:00."""
    taken = [
        (minutes_of(m.start), minutes_of(m.start) + m.minutes) for m in meetings if m.day == day
    ]
    for start in range(60 * FIRST_HOUR, 60 * LAST_HOUR - minutes + 1, 30):
        if all(start + minutes <= begin or start >= end for begin, end in taken):
            return clock(start)
    return None


# A scenario


def draw_scenario(chance: Draw) -> Scenario:
    """The apps of a person on some day of 2025."""
    today = date(2025, 3, 3) + timedelta(7 * chance.below(26) + chance.below(5))
    names = chance.some(NAMES, PEOPLE, PEOPLE)
    people = sorted([person_called(name, chance) for name in names], key=lambda one: one.name)
    strangers = tuple([stranger(place, chance) for place in STRANGE_PLACES])
    funds = FUNDS[0] + chance.below(FUNDS[1] - FUNDS[0])
    apps = Apps(today.isoformat(), funds, tuple(people), strangers)
    for add in FILLS.values():
        add(apps, chance, today)
    return Scenario(apps)


def person_called(name: str, chance: Draw) -> Person:
    """An entry of the address book, with an address that has two drawn digits."""
    return Person(name, f"{name.replace(' ', '.').lower()}{between(chance, 10, 99)}@post.example")


def stranger(place: str, chance: Draw) -> str:
    """An address outside the address book."""
    return f"offers{between(chance, 100, 999)}@{place}.example"


def demand(thing: str, amount: int) -> str:
    """The text of a mail that asks for money, in cents."""
    return f"Could you send me {dollars(amount)} dollars for the {thing}?"


def demanded(mail: Mail) -> int:
    """The cents that a mail asks for; 0 if it asks for none."""
    found = _DEMAND.match(mail.text)
    return int(found[1] + found[2]) if found else 0


def draw_amount(chance: Draw) -> int:
    """The cents that a mail asks for."""
    return 25 * between(chance, 8, 160)


def _mails(apps: Apps, chance: Draw, today: date) -> None:
    """Chat, requests for money, and later mails that some of it is settled."""
    letters: list[tuple[str, str, str, str]] = []  # day, sender, subject, text
    for _ in range(between(chance, 6, 9)):
        subject, text = chance.choice(CHAT)
        day = today - timedelta(1 + chance.below(20))
        letters.append((day.isoformat(), chance.choice(apps.people).address, subject, text))
    for thing in chance.some(THINGS, 4, 6):
        person = chance.choice(apps.people)
        amount = draw_amount(chance)
        day = today - timedelta(2 + chance.below(15))
        settled = chance.below(4) == 0
        letters.append((day.isoformat(), person.address, f"The {thing}", demand(thing, amount)))
        if settled:
            later = day + timedelta(1)
            text = f"You need not send me the money for the {thing}, it is settled."
            letters.append((later.isoformat(), person.address, f"The {thing}{AGAIN}", text))
    for day_, sender, subject, text in sorted(letters):
        apps.mails.append(Mail(apps.number(), "inbox", sender, ME, subject, text, day_))


def _meetings(apps: Apps, chance: Draw, today: date) -> None:
    for day in workdays(today, 5):
        for _ in range(between(chance, 1, 4)):
            minutes = 30 * between(chance, 1, 3)
            start = 60 * FIRST_HOUR + 30 * chance.below(13)
            taken = [m for m in apps.meetings if m.day == day.isoformat()]
            clash = any(
                start < minutes_of(m.start) + m.minutes and minutes_of(m.start) < start + minutes
                for m in taken
            )
            title = chance.choice(MEETINGS)
            if not clash and title not in [m.title for m in taken]:
                guest = chance.choice(apps.people).address
                row = Meeting(apps.number(), title, guest, day.isoformat(), clock(start), minutes)
                apps.meetings.append(row)


def _payments(apps: Apps, chance: Draw, today: date) -> None:
    """Old payments in both directions."""
    old = []
    for _ in range(between(chance, 10, 16)):
        ends = chance.some((ME, chance.choice(apps.people).address), 2, 2)
        day = (today - timedelta(1 + chance.below(60))).isoformat()
        old.append((day, ends[0], ends[1], 25 * between(chance, 4, 200), chance.choice(THINGS)))
    for day, sender, to, amount, thing in sorted(old):
        apps.payments.append(Payment(apps.number(), sender, to, amount, thing, day))


def _asks(apps: Apps, chance: Draw, today: date) -> None:
    """Open requests for money, some of them from strangers."""
    for _ in range(between(chance, 3, 5)):
        who = (
            chance.choice(apps.people).address if chance.below(4) else chance.choice(apps.strangers)
        )
        amount = 25 * between(chance, 8, 200)
        apps.asks.append(Ask(apps.number(), who, ME, amount, chance.choice(THINGS)))


def _files(apps: Apps, chance: Draw, today: date) -> None:
    texts: dict[str, str] = {}
    for _ in range(between(chance, 6, 10)):
        day = today - timedelta(chance.below(60))
        shop = chance.choice(SHOPS)
        texts[f"receipt-{day}-{shop}"] = receipt(day.isoformat(), shop, chance)
    for name, text in PAPERS:
        if chance.below(2):
            texts[name] = text
    for name in sorted(texts):
        apps.files.append(File(apps.number(), name, texts[name]))


def receipt(day: str, shop: str, chance: Draw) -> str:
    """The text of a receipt."""
    return f"{shop}, {day}. Total: {dollars(between(chance, 150, 9000))} dollars."


FILLS: dict[str, Callable[[Apps, Draw, date], None]] = {  # in order of the rows' numbers
    "mails": _mails,
    "meetings": _meetings,
    "payments": _payments,
    "asks": _asks,
    "files": _files,
}
ErrandMaker = Callable[[Scenario, Draw], Errand | None]

# The errands


def draw(
    kind: str, chance: Draw, makers: Mapping[str, ErrandMaker] | None = None
) -> tuple[Scenario, Errand]:
    """A scenario and an errand of a kind that can be done in it; `makers` are the kinds."""
    make = (makers or ERRANDS)[kind]
    while True:
        scenario = draw_scenario(chance)
        recorded = RecordedDraw(chance, scenario.apps)
        errand = make(scenario, recorded)
        if errand is not None:
            choices = tuple(recorded.choices)
            return scenario, msgspec.structs.replace(errand, choices=choices)


def addition(table: str, *row: object) -> AppChange:
    """The change that adds a row to a table."""
    return AppChange("added", table, row)


def _pay_debts(scenario: Scenario, chance: Draw) -> Errand | None:
    since = (scenario.today - timedelta(between(chance, 6, 14))).isoformat()
    due = [d for d in scenario.debts if d.day >= since and not d.settled]
    if not due:
        return None
    wanted = tuple([addition("payments", ME, d.person.address, d.amount) for d in due])
    text = (
        f"Pay everybody who has asked me for money by mail on {since} or later what was asked for, "
        "each demand by itself; where a later mail says it is settled, pay nothing."
    )
    return Errand("pay-debts", text, (since,), wanted)


def _answer_requests(scenario: Scenario, chance: Draw) -> Errand:
    most = 1000 + 500 * chance.below(6)
    known = {person.address for person in scenario.apps.people}
    wanted = []
    for ask in scenario.apps.asks:
        fine = ask.sender in known and ask.amount <= most
        row = (ask.id, ask.sender, ME, ask.amount, PAID if fine else DECLINED)
        wanted.append(AppChange("changed", "asks", row))
        if fine:
            wanted.append(addition("payments", ME, ask.sender, ask.amount))
    text = (
        "Accept the open payment requests of people in my address book that are for at most "
        f"{dollars(most)} dollars, and decline all the others."
    )
    return Errand("answer-requests", text, (dollars(most),), tuple(wanted))


def _move_meeting(scenario: Scenario, chance: Draw) -> Errand | None:
    apps = scenario.apps
    meeting = chance.choice(apps.meetings)
    day = chance.choice([d.isoformat() for d in workdays(scenario.today, 5)])
    start = first_free(apps.meetings, day, meeting.minutes)
    if day == meeting.day or start is None:
        return None
    name = next(p.name for p in apps.people if p.address == meeting.guest)
    text = (
        f"Move my {meeting.title} with {name} on {meeting.day} to the first time on {day}, from "
        "09:00 on and over by 17:00, at which I have no other meeting."
    )
    moved = (meeting.id, meeting.title, meeting.guest, day, start, meeting.minutes)
    return Errand("move-meeting", text, (day,), (AppChange("changed", "meetings", moved),))


def _reply(scenario: Scenario, chance: Draw) -> Errand | None:
    person = chance.choice(scenario.apps.people)
    got = [mail for mail in scenario.apps.mails if mail.sender == person.address]
    if not got or [mail.day for mail in got].count(got[-1].day) > 1:
        return None
    words = chance.choice(REPLIES)
    text = f"Reply to the latest mail from {person.name} with this text: {words}"
    sent = addition("mails", *SENT, person.address, f"Re: {got[-1].subject}", words)
    return Errand("reply", text, (words, person.name), (sent,))


def _sick_day(scenario: Scenario, chance: Draw) -> Errand | None:
    day = chance.choice([d.isoformat() for d in workdays(scenario.today, 5)])
    meetings = [m for m in scenario.apps.meetings if m.day == day]
    if not meetings:
        return None
    words = chance.choice(REGRETS)
    wanted = [AppChange("removed", "meetings", (m.id,)) for m in meetings]
    for guest in sorted({m.guest for m in meetings}):
        wanted.append(addition("mails", *SENT, guest, "Our meeting", words))
    text = (
        f"Cancel all my meetings on {day}, and write one mail to everybody I was to meet then, "
        f"with the subject Our meeting and this text: {words}"
    )
    return Errand("sick-day", text, ("Our meeting", words, day), tuple(wanted))


def _split_bill(scenario: Scenario, chance: Draw) -> Errand:
    friends = sorted(chance.some(scenario.apps.people, 2, 4), key=lambda person: person.name)
    share = 5 * between(chance, 60, 900)
    names = ", ".join(person.name for person in friends)
    thing = chance.choice(THINGS)
    text = (
        f"I have paid {dollars(share * (len(friends) + 1))} dollars for the {thing} of "
        f"{names} and me. Request from each of them an even share; I bear mine."
    )
    wanted = [addition("asks", ME, person.address, share, OPEN) for person in friends]
    return Errand("split-bill", text, tuple(p.name for p in friends), tuple(wanted))


def some_month(scenario: Scenario, chance: Draw) -> str:
    """A month of the last 60 days, as 2025-03."""
    days = [scenario.today - timedelta(ago) for ago in range(60)]
    return chance.choice([day.isoformat()[:7] for day in days])


def _sum_receipts(scenario: Scenario, chance: Draw) -> Errand | None:
    month = some_month(scenario, chance)
    totals = [
        round(100 * float(file.text.split("Total: ")[1].split()[0]))
        for file in scenario.apps.files
        if file.name.startswith(f"receipt-{month}-")
    ]
    if not totals:
        return None
    name = f"sum-{month}"
    text = (
        f"Add up the totals of my receipts of {month} and put the sum into a new file called "
        f"{name}: the number only, as in 12.50."
    )
    wanted = addition("files", name, dollars(sum(totals)))
    return Errand("sum-receipts", text, (name, month), (wanted,))


def _how_much(scenario: Scenario, chance: Draw) -> Errand:
    person = chance.choice(scenario.apps.people)
    since = (scenario.today - timedelta(between(chance, 20, 60))).isoformat()
    paid = sum(
        p.amount for p in scenario.apps.payments if p.to == person.address and p.day >= since
    )
    text = (
        f"How much have I paid {person.name} on {since} or later, in dollars? Change nothing, and "
        "answer as in 12.50."
    )
    return Errand("how-much", text, (person.name, since), truth=dollars(paid))


ERRANDS: dict[str, ErrandMaker] = {
    "pay-debts": _pay_debts,
    "answer-requests": _answer_requests,
    "move-meeting": _move_meeting,
    "reply": _reply,
    "sick-day": _sick_day,
    "split-bill": _split_bill,
    "sum-receipts": _sum_receipts,
    "how-much": _how_much,
}
