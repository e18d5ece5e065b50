"""How the oracle assistant does the chores: by pages, forms and buttons alone."""

from __future__ import annotations

from collections.abc import Callable

from palestra_web.actions import Click, Goto, Select
from palestra_web.apps.browsing import (
    Cell,
    Play,
    fill_form,
    open_row,
    paragraphs,
    people,
    press_in_rows,
    rows_at,
    send_form,
    table_of,
)
from palestra_web.apps.errands import first_free
from palestra_web.apps.rows import ME, Meeting, dollars
from palestra_web.reading import find, read_page


def cents(amount: Cell) -> int:
    """The cents of an amount in dollars."""
    return round(100 * float(amount.text))


def delete_mails(name: str) -> Play:
    address = (yield from people())[name]
    yield from press_in_rows("/mail", lambda row: row[1].text == address, "Delete")
    return ""


def tidy_inbox(before: str) -> Play:
    yield from press_in_rows("/mail", lambda row: row[2].text < before, "Delete")
    return ""


def announce(text: str) -> Play:
    for address in (yield from people()).values():
        yield from send_form("/mail/new", "Send", To=address, Subject="News", Text=text)
    return ""


def forward(to: str, name: str) -> Play:
    addresses = yield from people()
    page = yield from open_row("/mail", lambda row: row[1].text == addresses[name])
    (subject, text) = heading_of(page), paragraphs(page)[3]
    yield from send_form(
        "/mail/new", "Send", To=addresses[to], Subject=f"Fwd: {subject}", Text=text
    )
    return ""


def heading_of(page: str) -> str:
    """The heading of a page."""
    line = next(line for line in page.splitlines() if line.strip().startswith("heading"))
    return line.strip().partition(" ")[2].strip("'\"")


def introduce(name: str, other: str) -> Play:
    book = yield from people()
    yield from send_form("/mail/new", "Send", To=book[name], Subject="Address", Text=book[other])
    return ""


def count_mails(name: str) -> Play:
    address = (yield from people())[name]
    rows = yield from rows_at("/mail")
    return str(sum(row[1].text == address for row in rows))


def oldest_mail() -> Play:
    names = {address: name for name, address in (yield from people()).items()}
    rows = yield from rows_at("/mail")
    return names[min(rows, key=lambda row: row[2].text)[1].text]


def book(title: str, name: str, day: str) -> Play:
    address = (yield from people())[name]
    rows = yield from rows_at("/calendar")
    meetings = [Meeting(0, "", "", r[0].text, r[1].text, int(r[2].text)) for r in rows]
    start = first_free(meetings, day, 60)
    assert start is not None
    page = yield Goto("/calendar/new")
    yield Select(find(read_page(page), "combobox", "Minutes").number, "60")
    yield from fill_form(page, "Add", Title=title, With=address, Day=day, Start=start)
    return ""


def cancel_with(name: str) -> Play:
    address = (yield from people())[name]
    yield from press_in_rows("/calendar", lambda r: r[4].text == address, "Cancel the meeting")
    return ""


def shift_day(day: str, to: str) -> Play:
    rows = yield from rows_at("/calendar")
    for _ in [row for row in rows if row[0].text == day]:
        page = yield from open_row("/calendar", lambda row: row[0].text == day)
        yield from fill_form(page, "Move", Day=to)
    return ""


def remind_guests(day: str, text: str) -> Play:
    rows = yield from rows_at("/calendar")
    for guest in sorted({row[4].text for row in rows if row[0].text == day}):
        yield from send_form("/mail/new", "Send", To=guest, Subject="Reminder", Text=text)
    return ""


def count_meetings(day: str) -> Play:
    rows = yield from rows_at("/calendar")
    return str(sum(row[0].text == day for row in rows))


def minutes_of_day(day: str) -> Play:
    rows = yield from rows_at("/calendar")
    return str(sum(int(row[2].text) for row in rows if row[0].text == day))


def busiest_day() -> Play:
    days = [row[0].text for row in (yield from rows_at("/calendar"))]
    return max(days, key=days.count)


def pay_person(name: str, amount: str) -> Play:
    address = (yield from people())[name]
    yield from send_form("/payments/send", "Pay", To=address, Dollars=amount)
    return ""


def decline_strangers() -> Play:
    known = set((yield from people()).values())
    while True:
        page = yield Goto("/payments")
        waiting = [r for r in table_of(page) if r[4].number and r[0].text not in known]
        if not waiting:
            return ""
        yield Click(waiting[0][5].number)


def decline_largest() -> Play:
    page = yield Goto("/payments")
    waiting = [row for row in table_of(page) if row[4].number]
    yield Click(max(waiting, key=lambda row: cents(row[2]))[5].number)
    return ""


def ask_back(name: str, since: str) -> Play:
    address = (yield from people())[name]
    rows = yield from rows_at("/payments/history")
    paid = [cents(r[3]) for r in rows if r[2].text == address and r[0].text >= since]
    yield from send_form("/payments/request", "Request", From=address, Dollars=dollars(sum(paid)))
    return ""


def received(name: str) -> Play:
    address = (yield from people())[name]
    rows = yield from rows_at("/payments/history")
    return dollars(sum(cents(r[3]) for r in rows if r[1].text == address and r[2].text == ME))


def delete_receipts(shop: str) -> Play:
    def is_it(row: list[Cell]) -> bool:
        return row[0].text.startswith("receipt-") and row[0].text.endswith(shop)

    yield from press_in_rows("/files", is_it, "Delete")
    return ""


def count_receipts(month: str) -> Play:
    rows = yield from rows_at("/files")
    return str(sum(row[0].text.startswith(f"receipt-{month}-") for row in rows))


def note_down(name: str, text: str) -> Play:
    yield from send_form("/files/new", "Save", Name=name, Text=text)
    return ""


def keep_address(name: str, file: str) -> Play:
    address = (yield from people())[name]
    yield from send_form("/files/new", "Save", Name=file, Text=address)
    return ""


def mail_file(name: str, file: str) -> Play:
    address = (yield from people())[name]
    page = yield from open_row("/files", lambda row: row[0].text == file)
    text = "\n".join(paragraphs(page))
    yield from send_form("/mail/new", "Send", To=address, Subject=file, Text=text)
    return ""


def rewrite_file(file: str, text: str) -> Play:
    page = yield from open_row("/files", lambda row: row[0].text == file)
    yield from fill_form(page, "Save", Text=text)
    return ""


CHORE_PLAYS: tuple[tuple[str, Callable[..., Play]], ...] = (
    (r"Delete every mail in my inbox that is from (.+)\.", delete_mails),
    (r"Delete every mail in my inbox from before ([\d-]+)\.", tidy_inbox),
    (r"Write one mail to each person .* and this text: (.+)", announce),
    (r"Send (.+) the text of the latest mail from (.+) in a new mail, .*", forward),
    (r"Write (.+) a mail with the subject Address .* address of (.+) and nothing .*", introduce),
    (r"How many mails in my inbox are from (.+)\? .*", count_mails),
    (r"Who has written the oldest mail .*", oldest_mail),
    (r"Add a (.+) of 60 minutes with (.+) on ([\d-]+), .*", book),
    (r"Cancel each meeting that I have with (.+), .*", cancel_with),
    (r"Move each of my meetings on ([\d-]+) to ([\d-]+), .*", shift_day),
    (r"Write one mail to everybody I am to meet on ([\d-]+), .* this text: (.+)", remind_guests),
    (r"How many meetings do I have on ([\d-]+)\? .*", count_meetings),
    (r"How many minutes of meetings do I have on ([\d-]+)\? .*", minutes_of_day),
    (r"On which day do I have most meetings\? .*", busiest_day),
    (r"Send (.+) ([\d.]+) dollars\.", pay_person),
    (r"Decline the open payment requests of those .*", decline_strangers),
    (r"Decline the open payment request for the largest .*", decline_largest),
    (r"Request from (.+), at once, .* on ([\d-]+) or later\.", ask_back),
    (r"How much has (.+) paid me in all, .*", received),
    (r"Delete each of my receipts of (.+)\.", delete_receipts),
    (r"How many receipts of ([\d-]+) do I have\? .*", count_receipts),
    (r"Make a new file called (\S+) with this text: (.+)", note_down),
    (r"Put the address of (.+) into a new file called (\S+), .*", keep_address),
    (r"Mail (.+) the text of my file (\S+), .*", mail_file),
    (r"Replace the text of my file (\S+) by this one: (.+)", rewrite_file),
)
