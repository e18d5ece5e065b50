"""AppWorld: errands in a person's apps that require certain changes and no others.

Mail, calendar, payments, files and an address book are parts of one site, with documentation of
each. Every episode draws the contents of the apps and a kind of errand: with `kind="any"` one of
eight (pay-debts, answer-requests, move-meeting, reply, sick-day, split-bill, sum-receipts and
how-much), with "all" one of these and of 25 smaller chores (see `chores.py`). Stop submits the
work: the apps are then compared with the apps at the start. There is a test for each wanted change,
one for the answer if the errand asks for one, and one that nothing else has changed. The reward for
Stop is the share of tests passed, as in LOOP, or 0 if nothing that was asked for is done, so that
idleness earns nothing; no other action is rewarded.

H. Trivedi et al., "AppWorld: A Controllable World of Apps and People for Benchmarking Interactive
Coding Agents", ACL 2024; K. Chen et al., "Reinforcement Learning for Long-Horizon Interactive LLM
Agents", 2025 (LOOP). Checked: an agent that only reads pages and acts on them passes every test,
and runs with a deliberate side effect fail exactly the expected test.

Left out: code that calls APIs; 250 kinds of errands (here 33).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, TypeVar

from palestra import Meta, Rng, Step, TextAction, environment

from palestra_web.apps.chores import EVERY
from palestra_web.apps.errands import ERRANDS, Errand, draw
from palestra_web.apps.imagining import imagine, line_of, missing, units
from palestra_web.apps.rows import (
    DECLINED,
    ME,
    OPEN,
    PAID,
    TABLES,
    AppRow,
    Apps,
    Ask,
    File,
    Mail,
    Meeting,
    Payment,
    R,
    changes,
    dollars,
    drop,
    find,
    put,
    verdicts,
)
from palestra_web.apps.words import DOCS, REFUSALS
from palestra_web.pages import (
    Element,
    Page,
    action,
    button,
    combobox,
    form,
    heading,
    link,
    paragraph,
    table,
    textbox,
)
from palestra_web.shop.catalogue import Draw
from palestra_web.website import (
    NOT_FOUND,
    Landing,
    Limit,
    NotFound,
    Website,
    WebState,
    Window,
    split,
    with_reveal,
)

PER_PAGE = 10
T = TypeVar("T")
LENGTHS = ("30", "60", "90", "120")
NAVIGATION = (
    *(link(app.title(), f"/{app}") for app in DOCS),
    link("Documentation", "/docs"),
)
Fields = Mapping[str, str]
Cells = Iterable[str | Element]


class FormRefused(Exception):
    """Raised when an app refuses a form; the message is one of `REFUSALS`."""


@dataclass(slots=True)
class Day:
    """The site's data."""

    errand: Errand
    apps: Apps  # as they are now
    before: Apps  # as they were at the start
    verdicts: tuple[bool, ...] = ()  # of each test; empty before the player stops
    opened: frozenset[str] = frozenset()  # what the pages so far have shown, as `units` names it


@environment(
    "web/AppWorld-v0",
    family="web",
    tags=("web", "tools", "hidden-information"),
    paper=(
        "Trivedi et al. (2024), AppWorld: A Controllable World of Apps and People for "
        "Benchmarking Interactive Coding Agents; Chen et al. (2025), Reinforcement Learning "
        "for Long-Horizon Interactive LLM Agents"
    ),
)
@dataclass(frozen=True)
class AppWorld(Website):
    """AppWorld: one player does an errand in a person's mail, calendar, payments and files.

    Numbered actions and observations are those of `Website`. Stop is rewarded with the share of
    tests passed, from 0 to 1, and with 0 if nothing that was asked for is done.
    """

    kind: Annotated[
        Literal[
            "any",
            "pay-debts",
            "answer-requests",
            "move-meeting",
            "reply",
            "sick-day",
            "split-bill",
            "sum-receipts",
            "how-much",
            "delete-mails",
            "tidy-inbox",
            "announce",
            "forward",
            "introduce",
            "count-mails",
            "oldest-mail",
            "book",
            "cancel-with",
            "shift-day",
            "remind-guests",
            "count-meetings",
            "minutes-of-day",
            "busiest-day",
            "pay-person",
            "decline-strangers",
            "decline-largest",
            "ask-back",
            "received",
            "delete-receipts",
            "count-receipts",
            "note-down",
            "keep-address",
            "mail-file",
            "rewrite-file",
            "all",
        ],
        Meta(
            description="kind of errand; 'any' draws one of the first eight in every episode, "
            "'all' one of all"
        ),
    ] = "any"
    limit: Limit = 80
    window: Window = 120

    rules_text = """
        You look after the apps of Robin Hale (robin.hale@home.example). Do the errand and nothing
        else, then Stop, with the answer if one is asked for: every other change counts against you.
    """
    reward_terms = ("tests",)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    # The errand

    def begin(self, rng: Rng) -> Day:
        kinds = {"any": tuple(ERRANDS), "all": tuple(EVERY)}.get(self.kind, (self.kind,))
        kind = rng.choice(kinds) if len(kinds) > 1 else self.kind
        scenario, errand = draw(kind, Draw(rng.word()), EVERY)
        apps = scenario.apps
        kept = {name: list(getattr(apps, name)) for name in TABLES}
        before = Apps(apps.today, apps.funds, apps.people, apps.strangers, **kept, last=apps.last)
        return Day(errand, apps, before)

    def known(self, data: Day, seat: int) -> Any:
        """The apps as they are now."""
        return data.apps

    def task(self, data: Day, seat: int) -> str:
        return data.errand.text

    def phrases(self, data: Day, seat: int) -> tuple[str, ...]:
        return data.errand.phrases

    def stop(self, data: Day, seat: int, answer: str) -> Mapping[str, float]:
        passed = verdicts(data.errand.wanted, changes(data.before, data.apps))
        if data.errand.truth:
            passed.insert(0, answer.strip() == data.errand.truth)
        data.verdicts = tuple(passed)
        *asked, _unharmed = passed
        return {"tests": sum(passed) / len(passed) if any(asked) else 0.0}

    def solved(self, data: Day, seat: int) -> bool:
        return bool(data.verdicts) and all(data.verdicts)

    def record_facts(self, state: WebState) -> dict[str, Any]:
        """Facts for the record: which requested changes were made, and whether there are others.

        `hard` covers the requested changes and the answer; `commonsense`, that nothing else has
        changed.
        """
        day: Day = state.data
        *made, unharmed = verdicts(day.errand.wanted, changes(day.before, day.apps))
        if day.errand.truth:
            made.append(bool(day.verdicts) and day.verdicts[0])
        reached = [f"wanted {number}" for number, done in enumerate(made) if done]
        return {
            "progress": sum(made) / len(made) if made else float(unharmed),
            "milestones": reached,
            "checks": {"hard": made, "commonsense": [unharmed]},
        }

    def determinize(self, state: WebState, seat: int, rng: Rng) -> WebState:
        """Draw again all that no page has shown, in a world in which the request can be made."""
        self.refuse_the_end(state)
        other = self.clone(state)
        day: Day = other.data
        day.before, day.apps, day.errand = imagine(
            day.before, day.apps, day.errand, day.opened, EVERY[day.errand.kind], Draw(rng.word())
        )
        return other

    def note(self, data: Day, page: Page) -> None:
        path, query = split(page.url)
        told = missing if page.title == NOT_FOUND else units
        data.opened |= frozenset(told(path))
        listed = LISTS.get(tuple(path))
        if listed is not None:
            table, in_order = listed
            rows = part_of(in_order(data.apps), query.get("page", "1"))
            data.opened |= frozenset(line_of(table, row) for row in rows)

    def step(self, state: WebState, actions: Mapping[int, TextAction]) -> Step:
        ((seat, _),) = actions.items()
        before = state.data.opened
        step = super().step(state, actions)
        return step if state.data.opened == before else with_reveal(step, seat, "")

    # The pages

    def open(self, data: Day, seat: int, path: Sequence[str], query: Fields) -> Page:
        apps, number = data.apps, query.get("page", "1")
        match path:
            case [""]:
                return home(apps)
            case ["docs"]:
                return documentation()
            case ["docs", app] if app in DOCS:
                return app_page(f"Documentation: {app}", *map(paragraph, DOCS[app]))
            case ["refused", why] if why in REFUSALS:
                said = paragraph(f"Nothing was done. {REFUSALS[why]}")
                return app_page("Refused", said)
            case ["people"]:
                rows = [(person.name, person.address) for person in apps.people]
                return app_page("People", table(("Name", "Address"), rows))
            case ["mail"] | ["mail", "sent"]:
                return folder(apps, path[-1], number)
            case ["mail", "new"]:
                return app_page("New mail", *letter())
            case ["mail", key]:
                return read_mail(_row_at(apps.mails, key))
            case ["calendar"]:
                return calendar(apps, number)
            case ["calendar", "new"]:
                return app_page("New meeting", *new_meeting())
            case ["calendar", key]:
                return meeting(_row_at(apps.meetings, key))
            case ["payments"]:
                return payments(apps)
            case ["payments", "history"]:
                return history(apps, number)
            case ["payments", "send"]:
                return app_page("Pay", money_form("/payments/send", "To", "Pay"))
            case ["payments", "request"]:
                return app_page("Request money", money_form("/payments/request", "From", "Request"))
            case ["files"]:
                return files(apps, number)
            case ["files", "new"]:
                return app_page("New file", *new_file())
            case ["files", key]:
                return read_file(_row_at(apps.files, key))
        raise NotFound

    # Form handlers

    def send(self, data: Day, seat: int, path: Sequence[str], fields: Fields) -> Landing:
        try:
            return Landing(self._change(data.apps, path, fields))
        except FormRefused as why:
            return Landing(f"/refused/{why}")

    def _change(self, apps: Apps, path: Sequence[str], fields: Fields) -> str:
        match path:
            case ["mail", *what]:
                return _mail(apps, what, fields)
            case ["calendar", *what]:
                return _calendar(apps, what, fields)
            case ["payments", *what]:
                return _payments(apps, what, fields)
            case ["files", *what]:
                return _files(apps, what, fields)
        raise NotFound


def _row_at(rows: Sequence[R], number: str) -> R:
    """The row that an address names; raises `NotFound` where there is none."""
    row = find(rows, number)
    if row is None:
        raise NotFound
    return row


# Mail


def _mail(apps: Apps, what: Sequence[str], fields: Fields) -> str:
    text = fields.get("text", "").strip()
    match what:
        case ["new"]:
            to = _address(apps, fields.get("to", ""))
            apps.mail(to, fields.get("subject", ""), _nonempty(text))
        case [key, "reply"]:
            mail = _row_at(apps.mails, key)
            to = mail.to if mail.sender == ME else mail.sender
            apps.mail(to, f"Re: {mail.subject}", _nonempty(text))
        case [key, "delete"]:
            drop(apps.mails, _row_at(apps.mails, key))
            return "/mail"
        case _:
            raise NotFound
    return "/mail/sent"


def _inbox(apps: Apps) -> list[Mail]:
    return [mail for mail in reversed(apps.mails) if mail.folder != "sent"]


def _sent(apps: Apps) -> list[Mail]:
    return [mail for mail in reversed(apps.mails) if mail.folder == "sent"]


def folder(apps: Apps, name: str, number: str) -> Page:
    sent = name == "sent"
    rows = [
        (link(m.subject or "(no subject)", f"/mail/{m.id}"), m.to if sent else m.sender, m.day)
        for m in (_sent(apps) if sent else _inbox(apps))
    ]
    ways = (link("Inbox", "/mail"), link("Sent", "/mail/sent"), link("New mail", "/mail/new"))
    columns = ("Subject", "To" if sent else "From", "Day")
    return list_page(
        f"/mail{'/sent' if sent else ''}",
        "Sent mail" if sent else "Inbox",
        ways,
        columns,
        rows,
        number,
    )


def read_mail(mail: Mail) -> Page:
    return app_page(
        mail.subject or "(no subject)",
        *(paragraph(f"From: {mail.sender}"), paragraph(f"To: {mail.to}")),
        *(paragraph(f"Day: {mail.day}"), *map(paragraph, mail.text.split("\n"))),
        form(
            f"/mail/{mail.id}/reply",
            *(textbox("Text", "text", lines=4), button("Reply")),
            changes=True,
        ),
        action("Delete", f"/mail/{mail.id}/delete"),
    )


def letter() -> tuple[Element, ...]:
    fields = textbox("To", "to"), textbox("Subject", "subject"), textbox("Text", "text", lines=4)
    return (form("/mail/new", *fields, button("Send"), changes=True),)


# Calendar


def _calendar(apps: Apps, what: Sequence[str], fields: Fields) -> str:
    match what:
        case ["new"]:
            title = _nonempty(fields.get("title", ""))
            guest = _address(apps, fields.get("guest", ""))
            day, start = _day_and_time(apps, fields)
            if fields.get("minutes") not in LENGTHS:
                raise FormRefused("minutes")
            minutes = int(fields["minutes"])
            apps.meetings.append(Meeting(apps.number(), title, guest, day, start, minutes))
        case [key, "move"]:
            old = _row_at(apps.meetings, key)
            day, start = _day_and_time(apps, fields)
            put(apps.meetings, Meeting(old.id, old.title, old.guest, day, start, old.minutes))
        case [key, "cancel"]:
            drop(apps.meetings, _row_at(apps.meetings, key))
        case _:
            raise NotFound
    return "/calendar"


def _agenda(apps: Apps) -> list[Meeting]:
    return sorted(apps.meetings, key=lambda m: (m.day, m.start, m.id))


def calendar(apps: Apps, number: str) -> Page:
    rows = [
        (m.day, m.start, str(m.minutes), link(m.title, f"/calendar/{m.id}"), m.guest)
        for m in _agenda(apps)
    ]
    columns = ("Day", "Start", "Minutes", "Title", "With")
    return list_page(
        "/calendar", "Calendar", (link("New meeting", "/calendar/new"),), columns, rows, number
    )


def meeting(found: Meeting) -> Page:
    return app_page(
        found.title,
        *(paragraph(f"With: {found.guest}"), paragraph(f"Day: {found.day}")),
        *(paragraph(f"Start: {found.start}"), paragraph(f"Minutes: {found.minutes}")),
        form(
            f"/calendar/{found.id}/move",
            *(textbox("Day", "day", found.day), textbox("Start", "start", found.start)),
            button("Move"),
            changes=True,
        ),
        action("Cancel the meeting", f"/calendar/{found.id}/cancel"),
    )


def new_meeting() -> tuple[Element, ...]:
    return (
        form(
            "/calendar/new",
            *(textbox("Title", "title"), textbox("With", "guest"), textbox("Day", "day")),
            *(textbox("Start", "start"), combobox("Minutes", "minutes", LENGTHS)),
            button("Add"),
            changes=True,
        ),
    )


# Payments


def _payments(apps: Apps, what: Sequence[str], fields: Fields) -> str:
    match what:
        case ["send"]:
            to, amount = _address(apps, fields.get("who", "")), _amount(fields)
            _afford(apps, amount)
            apps.pay(to, amount, fields.get("note", ""))
            return "/payments/history"
        case ["request"]:
            who, amount = _address(apps, fields.get("who", "")), _amount(fields)
            apps.asks.append(Ask(apps.number(), ME, who, amount, fields.get("note", "")))
        case [key, "accept" | "decline" as how]:
            ask = _row_at([ask for ask in apps.asks if ask.to == ME], key)
            if ask.status != OPEN:
                raise FormRefused("answered")
            if how == "accept":
                _afford(apps, ask.amount)
                apps.pay(ask.sender, ask.amount, ask.note)
            status = PAID if how == "accept" else DECLINED
            put(apps.asks, Ask(ask.id, ask.sender, ask.to, ask.amount, ask.note, status))
        case _:
            raise NotFound
    return "/payments"


def payments(apps: Apps) -> Page:
    rows = []
    for ask in apps.asks:
        cells: list[str | Element] = [ask.sender, ask.to, dollars(ask.amount), ask.note]
        if ask.status == OPEN and ask.to == ME:
            yes = action("Accept", f"/payments/{ask.id}/accept")
            cells += [yes, action("Decline", f"/payments/{ask.id}/decline")]
        else:
            cells += [ask.status, ""]
        rows.append(cells)
    return app_page(
        "Payments",
        paragraph(f"Balance: {dollars(apps.balance)} dollars"),
        *(link("Pay", "/payments/send"), link("Request money", "/payments/request")),
        *(link("History", "/payments/history"), heading("Requests", 2)),
        table(("Of", "To", "Dollars", "For", "Status", ""), rows),
    )


def _latest(apps: Apps) -> list[Payment]:
    return list(reversed(apps.payments))


def history(apps: Apps, number: str) -> Page:
    rows = [(p.day, p.sender, p.to, dollars(p.amount), p.note) for p in _latest(apps)]
    columns = ("Day", "Of", "To", "Dollars", "For")
    return list_page(
        "/payments/history",
        "Payment history",
        (link("Pay", "/payments/send"),),
        columns,
        rows,
        number,
    )


def money_form(to: str, who: str, name: str) -> Element:
    fields = textbox(who, "who"), textbox("Dollars", "amount"), textbox("For", "note")
    return form(to, *fields, button(name), changes=True)


# Files


def _files(apps: Apps, what: Sequence[str], fields: Fields) -> str:
    text = fields.get("text", "")
    match what:
        case ["new"]:
            name = fields.get("name", "")
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,59}", name):
                raise FormRefused("name")
            if any(file.name == name for file in apps.files):
                raise FormRefused("taken")
            apps.files.append(File(apps.number(), name, text))
        case [key, "save"]:
            put(apps.files, File((old := _row_at(apps.files, key)).id, old.name, text))
        case [key, "delete"]:
            drop(apps.files, _row_at(apps.files, key))
        case _:
            raise NotFound
    return "/files"


def _by_name(apps: Apps) -> list[File]:
    return sorted(apps.files, key=lambda file: file.name)


def files(apps: Apps, number: str) -> Page:
    rows = [(link(f.name, f"/files/{f.id}"),) for f in _by_name(apps)]
    return list_page("/files", "Files", (link("New file", "/files/new"),), ("Name",), rows, number)


def read_file(file: File) -> Page:
    return app_page(
        file.name,
        *map(paragraph, file.text.split("\n")),
        form(
            f"/files/{file.id}/save",
            *(textbox("Text", "text", file.text, lines=4), button("Save")),
            changes=True,
        ),
        action("Delete", f"/files/{file.id}/delete"),
    )


def new_file() -> tuple[Element, ...]:
    fields = textbox("Name", "name"), textbox("Text", "text", lines=4)
    return (form("/files/new", *fields, button("Save"), changes=True),)


# Common parts of pages


def home(apps: Apps) -> Page:
    day = date.fromisoformat(apps.today)
    return app_page("Apps", paragraph(f"Today is {day:%A}, {apps.today}."), paragraph(f"You: {ME}"))


def documentation() -> Page:
    return app_page("Documentation", *(link(f"About {app}", f"/docs/{app}") for app in DOCS))


def app_page(title: str, *body: Element) -> Page:
    """A page with links to all apps; the site fills in its address."""
    return Page("", title, (*NAVIGATION, heading(title), *body))


def list_page(
    url: str,
    title: str,
    ways: Sequence[Element],
    columns: Sequence[str],
    rows: Sequence[Cells],
    number: str,
) -> Page:
    """A list, ten rows a page."""
    page = _page(number)
    turns = [
        link(name, f"{url}?page={other}")
        for name, other in (("Previous", page - 1), ("Next", page + 1))
        if other > 0 and (other - 1) * PER_PAGE < len(rows)
    ]
    part = part_of(rows, number)
    body = table(columns, part) if part else paragraph("There is nothing here.")
    return app_page(title, *ways, *turns, body)


def _page(number: str) -> int:
    return int(number) if re.fullmatch(r"[0-9]{1,4}", number) else 1


def part_of(rows: Sequence[T], number: str) -> Sequence[T]:
    """The rows of a list that a page of it shows, by the page's number as it is written."""
    start = max(0, _page(number) - 1) * PER_PAGE
    return rows[start : start + PER_PAGE]


LISTS: dict[tuple[str, ...], tuple[str, Callable[[Apps], Sequence[AppRow]]]] = {
    ("mail",): ("mails", _inbox),
    ("calendar",): ("meetings", _agenda),
    ("payments", "history"): ("payments", _latest),
    ("files",): ("files", _by_name),
}  # by path: the table of a list, and its rows as they are shown


# Validation of fields


def _nonempty(text: str) -> str:
    if not text.strip():
        raise FormRefused("empty")
    return text


def _address(apps: Apps, text: str) -> str:
    if not apps.knows(text.strip()):
        raise FormRefused("address")
    return text.strip()


def _amount(fields: Fields) -> int:
    text = fields.get("amount", "").strip()
    if not re.fullmatch(r"[0-9]{1,6}\.[0-9]{2}", text):
        raise FormRefused("amount")
    cents = int(text.replace(".", ""))
    if not cents:
        raise FormRefused("amount")
    return cents


def _afford(apps: Apps, amount: int) -> None:
    if amount > apps.balance:
        raise FormRefused("funds")


def _day_and_time(apps: Apps, fields: Fields) -> tuple[str, str]:
    day, start = fields.get("day", "").strip(), fields.get("start", "").strip()
    try:
        known = date.fromisoformat(day).isoformat() == day
    except ValueError:
        known = False
    if not known or day < apps.today:
        raise FormRefused("day")
    if not re.fullmatch(r"([01][0-9]|2[0-3]):(00|30)", start):
        raise FormRefused("time")
    return day, start
