"""The apps as a player may imagine them: what was opened stays, all else is drawn again.

`units` names what a page shows. A table counts as shown once one page of its list was opened, and
with it the numbers of its rows. The request itself tells of people, a meeting and a file, which are
in every imagined world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any

from msgspec.structs import replace

from palestra_web.apps.drawing import RepeatedDraw
from palestra_web.apps.errands import (
    FILLS,
    FUNDS,
    PEOPLE,
    Errand,
    ErrandMaker,
    Scenario,
    demand,
    demanded,
    draw_amount,
    person_called,
    receipt,
    stranger,
)
from palestra_web.apps.rows import ME, TABLES, AppRow, Apps, File, Mail, Meeting, Person
from palestra_web.apps.words import NAMES, PAPERS, STRANGE_PLACES
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
            return table, f"{table}/{key}"
    return _SHOWN.get(tuple(path), ())


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
            getattr(apps, table).extend(map(self._row, rows))
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

    def _possible(self, table: str, number: int, last: int | None) -> bool:
        return f"no {table}/{number}" not in self.opened and (last is None or number <= last)

    def _fill_table(self, apps: Apps, table: str) -> None:
        if table in self.opened:
            rows = getattr(self.before, table)
            getattr(apps, table).extend(replace(row, id=apps.number()) for row in rows)
            return
        FILLS[table](apps, self.chance, date.fromisoformat(apps.today))
        self._add_told(apps, table)

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
        shown = [getattr(self.before, table) for table in TABLES if table in self.opened]
        rows = chain(*shown, *self.own.values())
        return {getattr(row, name) for row in rows for name in _ADDRESSES if hasattr(row, name)}

    def _funds(self) -> int:
        """The money at the start: at least what the player has paid since."""
        if "funds" in self.opened:
            return self.before.funds
        least = max(FUNDS[0], sum(row.amount for row in self.own["payments"] if row.sender == ME))
        return least + self.chance.below(FUNDS[1] - least)


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
