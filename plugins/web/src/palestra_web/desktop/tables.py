"""The applications that keep rows: mail, calendar, contacts, tasks, expenses and the like.

A row is a text on the disk, at a path such as `@Calendar/2` that the file manager does not show. It
is JSON, so that rows are compared, redrawn and remembered as files are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

Row = dict[str, str]
Disk = dict[str, str | None]  # texts by path; a folder has none

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TIMES = ("07:00", "07:30", "08:00", "09:00", "10:30", "12:00", "14:00", "15:30", "17:00", "18:00")
BOXES = ("Inbox", "Sent", "Archive", "Junk")
ALBUMS = ("Family", "Garden", "Harbour", "Mountains")


@dataclass(frozen=True)
class Table:
    """The columns of an application's rows, each with its choices; none for free text.

    inner: the column that is shown only once a row is opened. given: what the application itself
    writes into a new row. fixed: columns that cannot be changed afterwards.
    """

    columns: Mapping[str, tuple[str, ...]]
    inner: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    fixed: tuple[str, ...] = ()

    @property
    def listed(self) -> list[str]:
        return [name for name in self.columns if name != self.inner]

    @property
    def asked(self) -> list[str]:
        """The columns of the form for a new row."""
        return [name for name in self.columns if name not in self.given]

    @property
    def changed(self) -> list[str]:
        """The columns of the form for a row that exists."""
        return [name for name in self.columns if name not in self.fixed]


TABLES: dict[str, Table] = {
    "Mail": Table(
        {"Box": BOXES, "From": (), "To": (), "Subject": (), "Text": ()},
        inner="Text",
        given={"Box": "Sent", "From": "me"},
        fixed=("From", "To", "Subject", "Text"),
    ),
    "Calendar": Table({"Title": (), "Day": DAYS, "Time": TIMES}),
    "Contacts": Table({"Name": (), "Phone": (), "Address": ()}),
    "Tasks": Table({"Title": (), "Due": DAYS, "State": ("open", "done")}),
    "Expenses": Table({"Item": (), "Amount": ()}),
    "Clock": Table({"Label": (), "Time": TIMES, "State": ("on", "off")}),
    "Shopping": Table({"Item": (), "Count": ()}),
    "Photos": Table({"Title": (), "Album": ALBUMS, "Favourite": ("yes", "no")}),
}


def put_row(disk: Disk, path: str, row: Mapping[str, str]) -> None:
    """Write a row at a path; what is shown only once it is opened stands at a path of its own."""
    inner = TABLES[app_of(path)].inner
    shown = {name: value for name, value in row.items() if name != inner}
    disk[path] = json.dumps(shown, ensure_ascii=False)
    if inner:
        disk[f"{path}/{inner}"] = row[inner]


def read_row(disk: Disk, path: str) -> Row:
    """The row at a path."""
    row: Row = json.loads(disk[path] or "{}")
    inner = TABLES[app_of(path)].inner
    return row | {inner: disk[f"{path}/{inner}"] or ""} if inner else row


def app_of(path: str) -> str:
    """The application whose row is at a path."""
    return path.partition("/")[0].removeprefix("@")


def paths_of(disk: Disk, app: str) -> list[str]:
    """The paths of an application's rows, in the order of their numbers."""
    found = [path for path in disk if path.startswith(f"@{app}/") and path.count("/") == 1]
    return sorted(found, key=_number)


def _number(path: str) -> int:
    return int(path.rpartition("/")[2])


def label(app: str, row: Row) -> str:
    """A row as the application lists it."""
    return " | ".join(row[name] for name in TABLES[app].listed)


def add_row(disk: Disk, app: str, row: Mapping[str, str]) -> str:
    """Add a row under the next free number; returns its path."""
    path = f"@{app}/{max(map(_number, paths_of(disk, app)), default=0) + 1}"
    put_row(disk, path, row)
    return path


def row_of(app: str, fields: Mapping[str, str], old: Row | None) -> Row | None:
    """The row that a form makes, new or from an old one; None if a field is empty or unknown."""
    table = TABLES[app]
    row = dict(table.given) if old is None else dict(old)
    for name in table.asked if old is None else table.changed:
        value = " ".join(fields.get(name, "").split())
        choices = table.columns[name]
        if not value or (choices and value not in choices):
            return None
        row[name] = value
    return {name: row[name] for name in table.columns}


def same(one: Disk, other: Disk) -> bool:
    """Whether two disks hold the same files, and the same rows under whatever numbers."""
    return _tidy(one) == _tidy(other)


def _tidy(disk: Disk) -> tuple[Disk, dict[str, list[str]]]:
    files = {path: text for path, text in disk.items() if not path.startswith("@")}
    rows = {app: [repr(read_row(disk, path)) for path in paths_of(disk, app)] for app in TABLES}
    return files, {app: sorted(kept) for app, kept in rows.items()}
