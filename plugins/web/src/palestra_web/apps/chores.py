"""More kinds of errands: smaller chores over mail, calendar, payments and files.

Each is a function like those of `errands`: it returns the request and exactly the changes that it
requires, or None where the scenario has no such case.
"""

from __future__ import annotations

from datetime import timedelta

from palestra_web.apps.errands import (
    ERRANDS,
    SENT,
    Errand,
    ErrandMaker,
    Scenario,
    addition,
    between,
    first_free,
    some_month,
    workdays,
)
from palestra_web.apps.rows import DECLINED, ME, OPEN, AppChange, Meeting, Person, dollars
from palestra_web.apps.words import MEETINGS, REGRETS, REPLIES, SHOPS, THINGS
from palestra_web.shop.catalogue import Draw

CHORES: dict[str, ErrandMaker] = {}


def chore(make: ErrandMaker) -> ErrandMaker:
    """Add a kind to `CHORES`; the function `_delete_mails` becomes delete-mails."""
    CHORES[make.__name__.strip("_").replace("_", "-")] = make
    return make


def some_day(scenario: Scenario, chance: Draw) -> str:
    """One of the next five workdays."""
    return chance.choice([day.isoformat() for day in workdays(scenario.today, 5)])


def on(scenario: Scenario, day: str) -> list[Meeting]:
    """The meetings of a day."""
    return [meeting for meeting in scenario.apps.meetings if meeting.day == day]


def known_by_name(scenario: Scenario, address: str) -> Person:
    """The entry of the address book that has an address."""
    return next(person for person in scenario.apps.people if person.address == address)


def letters(guests: set[str], subject: str, text: str) -> tuple[AppChange, ...]:
    """One mail to each address."""
    return tuple(addition("mails", *SENT, guest, subject, text) for guest in sorted(guests))


def gone(table: str, numbers: list[int]) -> tuple[AppChange, ...]:
    """The rows with these numbers are removed."""
    return tuple(AppChange("removed", table, (number,)) for number in numbers)


# Mail


@chore
def _delete_mails(scenario: Scenario, chance: Draw) -> Errand | None:
    person = chance.choice(scenario.apps.people)
    ids = [mail.id for mail in scenario.apps.mails if mail.sender == person.address]
    text = f"Delete every mail in my inbox that is from {person.name}."
    return Errand("delete-mails", text, (person.name,), gone("mails", ids)) if ids else None


@chore
def _tidy_inbox(scenario: Scenario, chance: Draw) -> Errand | None:
    before = (scenario.today - timedelta(between(chance, 6, 16))).isoformat()
    ids = [mail.id for mail in scenario.apps.mails if mail.day < before]
    text = f"Delete every mail in my inbox from before {before}."
    return Errand("tidy-inbox", text, (before,), gone("mails", ids)) if ids else None


@chore
def _announce(scenario: Scenario, chance: Draw) -> Errand:
    words = chance.choice(REGRETS)
    text = (
        "Write one mail to each person in my address book, with the subject News and this text: "
        f"{words}"
    )
    everybody = {person.address for person in scenario.apps.people}
    return Errand("announce", text, ("News", words), letters(everybody, "News", words))


@chore
def _forward(scenario: Scenario, chance: Draw) -> Errand | None:
    one, other = chance.some(scenario.apps.people, 2, 2)
    got = [mail for mail in scenario.apps.mails if mail.sender == one.address]
    if not got or [mail.day for mail in got].count(got[-1].day) > 1:
        return None
    subject = f"Fwd: {got[-1].subject}"
    text = (
        f"Send {other.name} the text of the latest mail from {one.name} in a new mail, with its "
        "subject after Fwd: and a space."
    )
    wanted = letters({other.address}, subject, got[-1].text)
    return Errand("forward", text, (subject, one.name, other.name), wanted)


@chore
def _introduce(scenario: Scenario, chance: Draw) -> Errand:
    one, other = chance.some(scenario.apps.people, 2, 2)
    text = (
        f"Write {one.name} a mail with the subject Address whose text is the address of "
        f"{other.name} and nothing else."
    )
    wanted = letters({one.address}, "Address", other.address)
    return Errand("introduce", text, ("Address", one.name, other.name), wanted)


@chore
def _count_mails(scenario: Scenario, chance: Draw) -> Errand:
    person = chance.choice(scenario.apps.people)
    count = sum(mail.sender == person.address for mail in scenario.apps.mails)
    text = f"How many mails in my inbox are from {person.name}? Change nothing; answer a number."
    return Errand("count-mails", text, (person.name,), truth=str(count))


@chore
def _oldest_mail(scenario: Scenario, chance: Draw) -> Errand | None:
    days = [mail.day for mail in scenario.apps.mails]
    if days.count(min(days)) > 1:
        return None
    (sender,) = [mail.sender for mail in scenario.apps.mails if mail.day == min(days)]
    text = (
        "Who has written the oldest mail in my inbox? Change nothing; answer the name in my "
        "address book."
    )
    return Errand("oldest-mail", text, (), truth=known_by_name(scenario, sender).name)


# Calendar


@chore
def _book(scenario: Scenario, chance: Draw) -> Errand | None:
    person, title = chance.choice(scenario.apps.people), chance.choice(MEETINGS)
    day = some_day(scenario, chance)
    start = first_free(scenario.apps.meetings, day, 60)
    if start is None:
        return None
    text = (
        f"Add a {title} of 60 minutes with {person.name} on {day}, at the first time from 09:00 on "
        "at which I have no other meeting and that is over by 17:00."
    )
    wanted = addition("meetings", title, person.address, day, start, 60)
    return Errand("book", text, (title, day), (wanted,))


@chore
def _cancel_with(scenario: Scenario, chance: Draw) -> Errand | None:
    person = chance.choice(scenario.apps.people)
    ids = [m.id for m in scenario.apps.meetings if m.guest == person.address]
    text = f"Cancel each meeting that I have with {person.name}, and tell nobody."
    return Errand("cancel-with", text, (person.name,), gone("meetings", ids)) if ids else None


@chore
def _shift_day(scenario: Scenario, chance: Draw) -> Errand | None:
    days = [day.isoformat() for day in workdays(scenario.today, 5)]
    day, to = chance.some(days, 2, 2)
    wanted = [
        AppChange("changed", "meetings", (m.id, m.title, m.guest, to, m.start, m.minutes))
        for m in on(scenario, day)
    ]
    text = f"Move each of my meetings on {day} to {to}, at the time it has, even if some overlap."
    return Errand("shift-day", text, (to, day), tuple(wanted)) if wanted else None


@chore
def _remind_guests(scenario: Scenario, chance: Draw) -> Errand | None:
    day = some_day(scenario, chance)
    guests = {meeting.guest for meeting in on(scenario, day)}
    words = f"We meet on {day}."
    text = (
        f"Write one mail to everybody I am to meet on {day}, with the subject Reminder and this "
        f"text: {words}"
    )
    wanted = letters(guests, "Reminder", words)
    return Errand("remind-guests", text, ("Reminder", words), wanted) if guests else None


@chore
def _count_meetings(scenario: Scenario, chance: Draw) -> Errand:
    day = some_day(scenario, chance)
    text = f"How many meetings do I have on {day}? Change nothing; answer a number."
    return Errand("count-meetings", text, (day,), truth=str(len(on(scenario, day))))


@chore
def _minutes_of_day(scenario: Scenario, chance: Draw) -> Errand:
    day = some_day(scenario, chance)
    text = f"How many minutes of meetings do I have on {day}? Change nothing; answer a number."
    minutes = sum(meeting.minutes for meeting in on(scenario, day))
    return Errand("minutes-of-day", text, (day,), truth=str(minutes))


@chore
def _busiest_day(scenario: Scenario, chance: Draw) -> Errand | None:
    days = [meeting.day for meeting in scenario.apps.meetings]
    most = max(days.count(day) for day in days)
    busiest = sorted({day for day in days if days.count(day) == most})
    text = "On which day do I have most meetings? Change nothing; answer as in 2025-03-14."
    return Errand("busiest-day", text, (), truth=busiest[0]) if len(busiest) == 1 else None


# Payments


@chore
def _pay_person(scenario: Scenario, chance: Draw) -> Errand:
    person, amount = chance.choice(scenario.apps.people), 5 * between(chance, 60, 900)
    text = f"Send {person.name} {dollars(amount)} dollars."
    wanted = addition("payments", ME, person.address, amount)
    return Errand("pay-person", text, (dollars(amount), person.name), (wanted,))


@chore
def _decline_strangers(scenario: Scenario, chance: Draw) -> Errand | None:
    known = {person.address for person in scenario.apps.people}
    wanted = [
        AppChange("changed", "asks", (ask.id, ask.sender, ME, ask.amount, DECLINED))
        for ask in scenario.apps.asks
        if ask.sender not in known
    ]
    text = (
        "Decline the open payment requests of those who are not in my address book, and leave the "
        "others open."
    )
    return Errand("decline-strangers", text, (), tuple(wanted)) if wanted else None


@chore
def _decline_largest(scenario: Scenario, chance: Draw) -> Errand | None:
    amounts = sorted(ask.amount for ask in scenario.apps.asks)
    if amounts[-1] == amounts[-2]:
        return None
    (ask,) = [ask for ask in scenario.apps.asks if ask.amount == amounts[-1]]
    text = "Decline the open payment request for the largest amount, and leave the others open."
    row = (ask.id, ask.sender, ME, ask.amount, DECLINED)
    return Errand("decline-largest", text, (), (AppChange("changed", "asks", row),))


@chore
def _ask_back(scenario: Scenario, chance: Draw) -> Errand | None:
    person = chance.choice(scenario.apps.people)
    since = (scenario.today - timedelta(between(chance, 20, 60))).isoformat()
    paid = [p.amount for p in scenario.apps.payments if p.to == person.address and p.day >= since]
    text = (
        f"Request from {person.name}, at once, the sum of all that I have paid them on {since} or "
        "later."
    )
    wanted = addition("asks", ME, person.address, sum(paid), OPEN)
    return Errand("ask-back", text, (person.name, since), (wanted,)) if paid else None


@chore
def _received(scenario: Scenario, chance: Draw) -> Errand:
    person = chance.choice(scenario.apps.people)
    got = sum(p.amount for p in scenario.apps.payments if p.sender == person.address)
    text = (
        f"How much has {person.name} paid me in all, in dollars? Change nothing; answer as in "
        "12.50."
    )
    return Errand("received", text, (person.name,), truth=dollars(got))


# Files


@chore
def _delete_receipts(scenario: Scenario, chance: Draw) -> Errand | None:
    shop = chance.choice(SHOPS)
    ids = [
        file.id
        for file in scenario.apps.files
        if file.name.startswith("receipt-") and file.name.endswith(shop)
    ]
    text = f"Delete each of my receipts of {shop}."
    return Errand("delete-receipts", text, (shop,), gone("files", ids)) if ids else None


@chore
def _count_receipts(scenario: Scenario, chance: Draw) -> Errand:
    month = some_month(scenario, chance)
    count = sum(file.name.startswith(f"receipt-{month}-") for file in scenario.apps.files)
    text = f"How many receipts of {month} do I have? Change nothing; answer a number."
    return Errand("count-receipts", text, (month,), truth=str(count))


@chore
def _note_down(scenario: Scenario, chance: Draw) -> Errand:
    words = chance.choice(REPLIES)
    name = f"note-{chance.choice(THINGS).replace(' ', '-')}"
    text = f"Make a new file called {name} with this text: {words}"
    return Errand("note-down", text, (name, words), (addition("files", name, words),))


@chore
def _keep_address(scenario: Scenario, chance: Draw) -> Errand:
    person = chance.choice(scenario.apps.people)
    name = f"address-{person.name.split()[0].lower()}"
    text = f"Put the address of {person.name} into a new file called {name}, and nothing else."
    wanted = addition("files", name, person.address)
    return Errand("keep-address", text, (name, person.name), (wanted,))


@chore
def _mail_file(scenario: Scenario, chance: Draw) -> Errand:
    person, file = chance.choice(scenario.apps.people), chance.choice(scenario.apps.files)
    text = f"Mail {person.name} the text of my file {file.name}, with the file's name as subject."
    wanted = letters({person.address}, file.name, file.text)
    return Errand("mail-file", text, (file.name, person.name), wanted)


@chore
def _rewrite_file(scenario: Scenario, chance: Draw) -> Errand:
    file, words = chance.choice(scenario.apps.files), chance.choice(REPLIES)
    text = f"Replace the text of my file {file.name} by this one: {words}"
    wanted = AppChange("changed", "files", (file.id, file.name, words))
    return Errand("rewrite-file", text, (words, file.name), (wanted,))


EVERY: dict[str, ErrandMaker] = {**ERRANDS, **CHORES}
