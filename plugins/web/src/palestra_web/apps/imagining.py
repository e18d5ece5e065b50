"""The apps as a player may imagine them: what was opened stays, all else is drawn again.

`units` and `line_of` name what a page shows. Once one page of a list was opened, the numbers of all
its rows stay; a row that no page has shown is drawn anew, between those that were. The request
itself tells of people, a meeting and a file, which are in every imagined world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import chain
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from palestra_web.apps.drawing import RepeatedDraw, named
from palestra_web.apps.errands import (
    FILLS,
    FIRST_HOUR,
    FUNDS,
    PEOPLE,
    Errand,
    ErrandMaker,
    Scenario,
    clock,
    demand,
    demanded,
    draw_amount,
    person_called,
    receipt,
    stranger,
    workdays,
)
from palestra_web.apps.rows import ME, TABLES, AppRow, Apps, File, Mail, Meeting, Person
from palestra_web.apps.words import NAMES, PAPERS, SHOPS, STRANGE_PLACES
from palestra_web.shop.catalogue import Draw

TRIES = 60  # worlds drawn until the request can be made, and tables until their numbers fit
_ADDRESSES = ("sender", "to", "guest")  # the fields of rows that hold one
_SHOWN = {  # what the page of a path shows, by the parts of the path
    ("people",): ("people",),
    ("mail",): ("mails",),
    ("calendar",): ("meetings",),
    ("payments",): ("asks", "funds"),
    ("payments", "history"): ("payments",),
    ("files",): ("files",),
    ("refused", "funds"): ("funds",),
    ("refused", "taken"): ("files",),
}
_FORMS = {("mail", "new"), ("mail", "sent"), ("calendar", "new"), ("files", "new")}


def units(path: Sequence[str]) -> tuple[str, ...]:
    """What the page at a path shows: tables, or single texts such as 'files/31'."""
    if tuple(path) in _FORMS:
        return ()
    match path:
        case ["mail" | "calendar" | "files" as app, key]:
            table = {"mail": "mails", "calendar": "meetings"}.get(app, app)
            return table, f"{table}:{key}", f"{table}/{key}"
    return _SHOWN.get(tuple(path), ())


def line_of(table: str, row: AppRow) -> str:
    """The name of a row's line in a list, such as 'files:31'."""
    return f"{table}:{row.id}"


def missing(path: Sequence[str]) -> tuple[str, ...]:
    """What a page that does not exist shows: that a table has no row of a number."""
    return tuple(f"no {unit}" for unit in units(path) if "/" in unit)


def imagine(
    before: Apps, now: Apps, errand: Errand, opened: frozenset[str], make: ErrandMaker, chance: Draw
) -> tuple[Apps, Apps, Errand]:
    """The apps at the start and now, and the errand, in a world that looks the same so far.

    Where the request cannot be made in any of `TRIES` worlds, the last requires nothing.
    """
    for _ in range(TRIES):
        drawn = _Imagined(before, now, errand, opened, chance).apps()
        required = _required(Scenario(drawn), errand, make)
        if required is not None:
            break
    else:
        required = replace(errand, wanted=(), truth="")
    return drawn, _changed(drawn, before, now), required


def _required(scenario: Scenario, errand: Errand, make: ErrandMaker) -> Errand | None:
    """The same request in another world; None where it would not be made there."""
    try:
        again = make(scenario, RepeatedDraw(errand.choices, scenario.apps))
    except LookupError:
        return None
    if again is None or again.text != errand.text:
        return None
    return replace(errand, wanted=again.wanted, truth=again.truth)


def _changed(drawn: Apps, before: Apps, now: Apps) -> Apps:
    """Drawn apps after the changes that the player has made, all of them to rows that are shown."""
    later = Apps(drawn.today, drawn.funds, drawn.people, drawn.strangers, last=drawn.last)
    for table in TABLES:
        old = {row.id: row for row in getattr(before, table)}
        left = {row.id: row for row in getattr(now, table)}
        gone = old.keys() - left.keys()
        rows = [
            left[row.id] if row.id in left and left[row.id] != old.get(row.id) else row
            for row in getattr(drawn, table)
            if row.id not in gone
        ]
        added = [row for number, row in left.items() if number > before.last]
        getattr(later, table)[:] = rows + added
    later.last = max(drawn.last, now.last if now.last > before.last else 0)
    return later


class _Imagined:
    """One world that is drawn around what was opened."""

    def __init__(
        self, before: Apps, now: Apps, errand: Errand, opened: frozenset[str], chance: Draw
    ) -> None:
        self.before, self.opened, self.chance = before, opened, chance
        self.own = {table: _own_rows(before, now, table) for table in TABLES}
        self.told = list(chain.from_iterable(_parts(choice) for choice in errand.choices))

    def apps(self) -> Apps:
        """The apps at the start; the numbers of rows are those that are shown."""
        before = self.before
        apps = Apps(before.today, self._funds(), self._people(), self._strangers())
        unnumbered: list[str] = []  # tables since the last of which the numbers are known
        for table in FILLS:
            rows = getattr(before, table)
            if table == "payments" or table not in self.opened:
                unnumbered.append(table)
                continue
            self._fill(apps, unnumbered, rows[0].id - 1)
            getattr(apps, table).extend(map(self._row, self._known_rows(apps, table)))
            unnumbered, apps.last = [], rows[-1].id
        self._fill(apps, unnumbered, before.last if any(self.own.values()) else None)
        return apps

    def _fill(self, apps: Apps, tables: Sequence[str], last: int | None) -> None:
        """Draw tables of which the last row has a number, where it is known.

        If no draw does, rows that nobody has seen are left out, or numbers.
        """
        first = apps.last
        for _ in range(TRIES):
            apps.last = first
            for table in tables:
                getattr(apps, table).clear()
                self._fill_table(apps, table)
            unseen = [
                (t, row.id) for t in tables if t not in self.opened for row in getattr(apps, t)
            ]
            if last in (None, apps.last) and all(self._possible(*one, last) for one in unseen):
                return
        for table in set(tables) - self.opened:
            rows = getattr(apps, table)
            rows[:] = [row for row in rows if self._possible(table, row.id, last)]
        apps.last = apps.last if last is None else last  # a number that is known stays known

    def _possible(self, table: str, number: int, last: int | None) -> bool:
        return f"no {table}/{number}" not in self.opened and (last is None or number <= last)

    def _fill_table(self, apps: Apps, table: str) -> None:
        if table in self.opened:
            rows = self._known_rows(apps, table)
            getattr(apps, table).extend(replace(row, id=apps.number()) for row in rows)
            return
        FILLS[table](apps, self.chance, date.fromisoformat(apps.today))
        self._add_told(apps, table)

    def _known_rows(self, apps: Apps, table: str) -> list[AppRow]:
        """The rows of a list of which pages were opened; those that no page showed are others."""
        shown = list(getattr(self.before, table))
        others = iter(self._drawn_rows(apps, table, len(shown)))
        order = sorted(shown, key=place_in(table))
        gap: list[AppRow] = []
        low: AppRow | None = None
        made: dict[int, AppRow] = {}
        for row in [*order, None]:
            if row is not None and not self._is_shown(table, row):
                gap.append(row)
                continue
            made |= between_lines(gap, low, row, others, self.chance, apps.today)
            gap, low = [], row
        return [made.get(row.id, row) for row in shown]

    def _drawn_rows(self, apps: Apps, table: str, count: int) -> list[AppRow]:
        """At least so many rows of another draw of a table, in its order."""
        rows: list[AppRow] = []
        while len(rows) < count:
            other = Apps(apps.today, apps.funds, apps.people, apps.strangers)
            FILLS[table](other, self.chance, date.fromisoformat(apps.today))
            rows += getattr(other, table)
        return rows

    def _is_shown(self, table: str, row: AppRow) -> bool:
        """Whether a page has shown a row's line, or the request tells of it."""
        if table == "asks" or line_of(table, row) in self.opened:
            return True
        return named(row, self.before) in self.told

    def _row(self, row: AppRow) -> AppRow:
        """A row of a list that is shown, with another text if it was not opened."""
        if isinstance(row, Mail) and demanded(row) and f"mails/{row.id}" not in self.opened:
            thing = row.subject.removeprefix("The ")
            return replace(row, text=demand(thing, draw_amount(self.chance)))
        if isinstance(row, File) and f"files/{row.id}" not in self.opened:
            return replace(row, text=_text_of(row.name, self.chance))
        return row

    def _add_told(self, apps: Apps, table: str) -> None:
        """Put the meeting and the file of which the request tells in the place of another."""
        for told in self.told:
            if isinstance(told, Meeting) and table == "meetings":
                _add_meeting(apps, told, self.chance)
            elif isinstance(told, File) and table == "files":
                _add_file(apps, told.name, self.chance)

    def _people(self) -> tuple[Person, ...]:
        if "people" in self.opened:
            return self.before.people
        shown = self._addresses()
        found = {person.name: person for person in self.before.people if person.address in shown}
        names = [told.name for told in self.told if isinstance(told, Person)]
        names += [told.guest for told in self.told if isinstance(told, Meeting)]
        for name in chain(names, iter(lambda: self.chance.choice(NAMES), None)):
            if len(found) >= PEOPLE:
                break
            if name not in found:
                found[name] = person_called(name, self.chance)
        return tuple(sorted(found.values(), key=lambda person: person.name))

    def _strangers(self) -> tuple[str, ...]:
        shown, real = self._addresses(), self.before.strangers
        return tuple(
            address if address in shown else stranger(place, self.chance)
            for place, address in zip(STRANGE_PLACES, real, strict=True)
        )

    def _addresses(self) -> set[str]:
        """The addresses in rows that are shown, and in the player's own."""
        shown = [
            row
            for table in TABLES
            if table in self.opened
            for row in getattr(self.before, table)
            if self._is_shown(table, row)
        ]
        rows = chain(shown, *self.own.values())
        return {getattr(row, name) for row in rows for name in _ADDRESSES if hasattr(row, name)}

    def _funds(self) -> int:
        """The money at the start: at least what the player has paid since."""
        if "funds" in self.opened:
            return self.before.funds
        least = max(FUNDS[0], sum(row.amount for row in self.own["payments"] if row.sender == ME))
        return least + self.chance.below(FUNDS[1] - least)


def place_in(table: str) -> Callable[[Any], Any]:
    """What orders the rows of a table in its list."""
    if table == "meetings":
        return lambda row: (row.day, row.start, row.id)
    return attrgetter("name" if table == "files" else "id")


def between_lines(
    gap: Sequence[AppRow],
    low: AppRow | None,
    high: AppRow | None,
    others: Iterator[AppRow],
    chance: Draw,
    today: str,
) -> dict[int, AppRow]:
    """Other rows, by their numbers, in the place of some between two lines that were shown."""
    if not gap:
        return {}
    if isinstance(gap[0], File):
        names = _names_between(low, high, date.fromisoformat(today))
        drawn: list[AppRow] = [
            File(0, name, _text_of(name, chance))
            for name in sorted(chance.some(names, len(gap), len(gap)))
        ]
    elif isinstance(gap[0], Meeting):
        drawn = _meetings_between(gap, low, high, others, chance, date.fromisoformat(today))
    else:
        first, last = getattr(low, "day", ""), getattr(high, "day", "9")
        some: list[Any] = [next(others) for _ in gap]
        days = sorted(min(max(row.day, first), last) for row in some)
        drawn = [replace(row, day=day) for row, day in zip(some, days, strict=True)]
    return {old.id: replace(row, id=old.id) for old, row in zip(gap, drawn, strict=True)}


def _names_between(low: Any, high: Any, today: date) -> list[str]:
    """Names of files that a draw may give, between two others."""
    days = [(today - timedelta(n)).isoformat() for n in range(60)]
    names = [f"receipt-{day}-{shop}" for day in days for shop in SHOPS]
    names += [name for name, _ in PAPERS]
    first, last = getattr(low, "name", ""), getattr(high, "name", "~")
    return sorted(name for name in names if first < name < last)


def _meetings_between(
    gap: Sequence[Any], low: Any, high: Any, others: Iterator[Any], chance: Draw, today: date
) -> list[AppRow]:
    """Meetings of half an hour at other times, between two others."""
    times = [clock(60 * FIRST_HOUR + 30 * n) for n in range(13)]
    slots = [(day.isoformat(), time) for day in workdays(today, 5) for time in times]
    ends = [(row.day, row.start) for row in (low, high) if row is not None]
    free = [
        slot
        for slot in slots
        if (low is None or slot > ends[0]) and (high is None or slot < ends[-1])
    ]
    chosen = (
        sorted(chance.some(free, len(gap), len(gap)))
        if len(free) >= len(gap)
        else [(row.day, row.start) for row in gap]
    )
    return [replace(next(others), day=day, start=time, minutes=30) for day, time in chosen]


def _own_rows(before: Apps, now: Apps, table: str) -> list[Any]:
    """The rows that the player has added."""
    return [row for row in getattr(now, table) if row.id > before.last]


def _parts(choice: Any) -> Iterator[Any]:
    yield from choice if isinstance(choice, tuple) else (choice,)


def _add_meeting(apps: Apps, told: Meeting, chance: Draw) -> None:
    """Give a meeting of a day the title and the guest of one that the player knows of."""
    guest = next(person.address for person in apps.people if person.name == told.guest)
    there = [n for n, row in enumerate(apps.meetings) if row.day == told.day]
    same = [n for n in there if apps.meetings[n].title == told.title]
    at = same[0] if same else chance.choice(there)
    apps.meetings[at] = replace(apps.meetings[at], title=told.title, guest=guest)


def _add_file(apps: Apps, name: str, chance: Draw) -> None:
    """Put a file of which the player knows in the place of another of its sort."""
    texts: Mapping[str, str] = {row.name: row.text for row in apps.files}
    if name in texts:
        return
    receipts = [other for other in texts if other.startswith("receipt-")]
    gone = chance.choice(receipts) if name.startswith("receipt-") else ""
    kept = {other: text for other, text in texts.items() if other != gone}
    kept[name] = _text_of(name, chance)
    apps.last -= len(apps.files)
    apps.files[:] = [File(apps.number(), other, kept[other]) for other in sorted(kept)]


def _text_of(name: str, chance: Draw) -> str:
    """The text of a file with a name: of a receipt drawn, of other papers always the same."""
    if name.startswith("receipt-"):
        return receipt(name[8:18], name[19:], chance)
    return dict(PAPERS)[name]
