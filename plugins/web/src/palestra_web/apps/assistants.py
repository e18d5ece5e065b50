"""Assistants: one does every errand by reading pages and acting on them, one does nothing."""

from __future__ import annotations

import re
from collections.abc import Callable

from palestra import InvalidOption, ScriptedAgent, TextAction, Turn, agent

from palestra_web.actions import Click, Goto, Stop
from palestra_web.apps.browsing import (
    Cell,
    Play,
    fill_form,
    open_row,
    open_rows,
    people,
    rows_at,
    send_form,
    table_of,
    text_after,
)
from palestra_web.apps.chore_plays import CHORE_PLAYS
from palestra_web.apps.errands import first_free
from palestra_web.apps.rows import ME, Meeting, dollars
from palestra_web.apps.site import AppWorld
from palestra_web.plays import GeneratorAgent
from palestra_web.reading import find, read_page, task_of

_DEMAND = re.compile(r"Could you send me ([\d.]+) dollars for the ([\w ]+)\?")
_SETTLED = re.compile(r"You need not send me the money for the ([\w ]+), it is settled\.")


@agent("oracle-assistant")
class OracleAssistant(GeneratorAgent):
    """Does every errand by reading pages and acting on them; it uses nothing but the pages."""

    plays = (AppWorld,)

    def begin(self, turn: Turn) -> Play:
        return begin(task_of(turn))

    def read_turn(self, turn: Turn) -> str:
        return turn.position


@agent("idle-assistant")
class IdleAssistant(ScriptedAgent[AppWorld]):
    """Stops at once; a baseline that changes nothing."""

    def choose(self, turn: Turn[AppWorld]) -> TextAction:
        return Stop("")


def begin(task: str) -> Play:
    """The generator that does an errand."""
    for pattern, play in (*PLAYS, *CHORE_PLAYS):
        match = re.fullmatch(pattern, task)
        if match:
            return play(*match.groups())
    raise InvalidOption(f"{task!r} is not an errand of web/AppWorld-v0")


# The plays


def pay_debts(since: str) -> Play:
    mails = yield from open_rows("/mail", lambda row: row[2].text >= since)
    settled = {thing for page in mails for thing in _SETTLED.findall(page)}
    for page in mails:
        for amount, thing in _DEMAND.findall(page):
            if thing not in settled:
                yield from send_form(
                    "/payments/send", "Pay", To=text_after(page, "From"), Dollars=amount
                )
    return ""


def answer_requests(most: str) -> Play:
    known = set((yield from people()).values())
    page = yield Goto("/payments")
    while True:
        waiting = [row for row in table_of(page) if row[4].number]
        if not waiting:
            return ""
        of, _, amount, _, accept, decline = waiting[0]
        fine = of.text in known and float(amount.text) <= float(most)
        page = yield Click((accept if fine else decline).number)


def move_meeting(title: str, name: str, day: str, to: str) -> Play:
    address = (yield from people())[name]
    rows = yield from rows_at("/calendar")
    meetings = [
        Meeting(0, row[3].text, row[4].text, row[0].text, row[1].text, int(row[2].text))
        for row in rows
    ]
    wanted = [title, address, day]
    (mine,) = [m for m in meetings if [m.title, m.guest, m.day] == wanted]
    start = first_free(meetings, to, mine.minutes)
    assert start is not None

    def is_it(row: list[Cell]) -> bool:
        return [row[3].text, row[4].text, row[0].text] == wanted

    page = yield from open_row("/calendar", is_it)
    yield from fill_form(page, "Move", Day=to, Start=start)
    return ""


def reply(name: str, text: str) -> Play:
    address = (yield from people())[name]
    page = yield from open_row("/mail", lambda row: row[1].text == address)
    yield from fill_form(page, "Reply", Text=text)
    return ""


def sick_day(day: str, text: str) -> Play:
    rows = yield from rows_at("/calendar")
    guests = [row[4].text for row in rows if row[0].text == day]
    for _ in guests:
        page = yield from open_row("/calendar", lambda row: row[0].text == day)
        yield Click(find(read_page(page), "button", "Cancel the meeting").number)
    for guest in sorted(set(guests)):
        yield from send_form("/mail/new", "Send", To=guest, Subject="Our meeting", Text=text)
    return ""


def split_bill(total: str, thing: str, names: str) -> Play:
    addresses = yield from people()
    friends = names.split(", ")
    share = dollars(round(100 * float(total)) // (len(friends) + 1))
    for name in friends:
        where = addresses[name]
        yield from send_form("/payments/request", "Request", From=where, Dollars=share)
    return ""


def sum_receipts(month: str, name: str) -> Play:
    def is_receipt(row: list[Cell]) -> bool:
        return row[0].text.startswith(f"receipt-{month}-")

    pages = yield from open_rows("/files", is_receipt)
    totals = [re.findall(r"paragraph '.*Total: ([\d.]+) dollars", page)[0] for page in pages]
    total = dollars(sum(round(100 * float(amount)) for amount in totals))
    yield from send_form("/files/new", "Save", Name=name, Text=total)
    return ""


def how_much(name: str, since: str) -> Play:
    address = (yield from people())[name]
    rows = yield from rows_at("/payments/history")
    paid = [
        round(100 * float(amount.text))
        for day, of, to, amount, _ in rows
        if of.text == ME and to.text == address and day.text >= since
    ]
    return dollars(sum(paid))


PLAYS: tuple[tuple[str, Callable[..., Play]], ...] = (
    (r"Pay everybody who .* by mail on ([\d-]+) or later .*", pay_debts),
    (r"Accept the open payment requests .* at most ([\d.]+) dollars, .*", answer_requests),
    (r"Move my (.+) with (.+) on ([\d-]+) to the first time on ([\d-]+), .*", move_meeting),
    (r"Reply to the latest mail from (.+) with this text: (.+)", reply),
    (r"Cancel all my meetings on ([\d-]+), .* and this text: (.+)", sick_day),
    (r"I have paid ([\d.]+) dollars for the (.+) of (.+) and me\. .*", split_bill),
    (r"Add up the totals of my receipts of ([\d-]+) .* called ([\w-]+): .*", sum_receipts),
    (r"How much have I paid (.+) on ([\d-]+) or later, .*", how_much),
)
