"""The computer behind the desktop: files, settings, windows, and what each button does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from palestra_web.desktop.tables import (
    TABLES,
    Disk,
    Row,
    add_row,
    app_of,
    paths_of,
    put_row,
    read_row,
    row_of,
)

Settings = dict[str, str]

APPS = ("Files", "Editor", "Settings", "Calculator", *TABLES)
SWITCHES = ("Dark mode", "Wi-Fi", "Bluetooth", "Notifications")
CHOICES = {
    "Wallpaper": ("Forest", "River", "Dunes", "Glacier"),
    "Language": ("English", "Español", "Deutsch", "日本語"),
    "Sleep after": ("5 minutes", "15 minutes", "1 hour", "never"),
}
MOST_WINDOWS = 6
LONGEST = 2000  # characters of a text
_NAME = re.compile(r"[\w .-]{1,40}")
_SUM = re.compile(r"(-?\d{1,12}) ?([-+*]) ?(-?\d{1,12})")


@dataclass(slots=True)
class Window:
    """A window of an application."""

    app: str  # one of APPS
    place: str = ""  # the path of the folder shown, or of the file or row that is open
    text: str = ""  # in the editor; the calculator's result
    hidden: bool = False  # whether it is minimised

    @property
    def title(self) -> str:
        if self.app == "Files":
            return f"Files: {self.place or 'Home'}"
        return f"Editor: {self.place or 'untitled'}" if self.app == "Editor" else self.app


@dataclass(slots=True)
class Dialog:
    """A modal question about a path, which the player has to answer first."""

    kind: Literal[
        "Rename", "Move", "Delete", "New folder", "Save as", "Open", "Backup", "New", "Edit"
    ]
    path: str = ""  # of a new row that of its application, such as @Calendar


def parent(path: str) -> str:
    """The path of the folder that holds a path; "" for Home."""
    return path.rpartition("/")[0]


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


def join(folder: str, name: str) -> str:
    """The path of a name in a folder."""
    return f"{folder}/{name}" if folder else name


def inside(disk: Disk, folder: str) -> list[str]:
    """The paths in a folder, folders first."""
    found = [path for path in disk if parent(path) == folder]
    return sorted(found, key=lambda path: (disk[path] is not None, path))


def folders(disk: Disk) -> list[str]:
    """Every folder; Home, the first, is ""."""
    return ["", *sorted(path for path, text in disk.items() if text is None)]


@dataclass(slots=True)
class Machine:
    """The mutable state of the desktop."""

    disk: Disk
    settings: Settings
    windows: list[Window] = field(default_factory=list)  # the last is in front
    dialog: Dialog | None = None
    menu: bool = False  # whether the editor's menu is open
    said: str = ""  # the machine's message about the last action
    read: list[str] = field(default_factory=list)  # texts that the screen has shown
    presses: int = 0
    backup_at: int = -1  # the action after which a backup is proposed

    @property
    def front(self) -> Window | None:
        return self.windows[-1] if self.windows and not self.windows[-1].hidden else None

    def press(self, do: str, fields: Mapping[str, str]) -> None:
        """Press the button whose value is `do`, with the contents of the fields."""
        self.said = ""
        front, verb, _, about = self.front, *do.partition(":")
        if self.dialog is not None:
            self._answer(self.dialog, verb, fields)
        else:
            if front is not None and front.app == "Editor":
                front.text = fields.get("text", front.text)[:LONGEST]
            was_open, self.menu = self.menu, False
            if verb == "start":
                self._start(about)
            elif verb == "focus":
                self._focus(about)
            elif front is not None:
                self._in_window(front, verb, fields, was_open)
        if self.front is not None and self.front.app in TABLES:
            self._show_rows(self.front)
        self.presses += 1
        if self.presses == self.backup_at and self.dialog is None:
            self.dialog = Dialog("Backup")

    # Windows

    def _start(self, app: str) -> None:
        open_now = [window for window in self.windows if window.app == app != "Editor"]
        if open_now:
            self._raise(open_now[0])
        elif app in APPS:
            self._open(Window(app))

    def _open(self, window: Window) -> None:
        if len(self.windows) == MOST_WINDOWS:
            self.said = "Too many windows are open; close one first."
        else:
            self.windows.append(window)

    def _focus(self, number: str) -> None:
        if number.isdecimal() and int(number) < len(self.windows):
            self._raise(self.windows[int(number)])

    def _raise(self, window: Window) -> None:
        self.windows.remove(window)
        window.hidden = False
        self.windows.append(window)

    def _in_window(
        self, front: Window, verb: str, fields: Mapping[str, str], menu_was_open: bool
    ) -> None:
        if verb == "close":
            self.windows.pop()
        elif verb == "minimise":
            front.hidden = True
            self.windows.insert(0, self.windows.pop())
        elif front.app == "Files":
            self._in_files(front, verb, fields)
        elif front.app == "Editor":
            self._in_editor(front, verb, menu_was_open)
        elif front.app == "Settings" and verb == "apply":
            self._apply(fields)
        elif front.app == "Calculator" and verb == "equals":
            front.text = result_of(fields.get("sum", ""))
        elif front.app in TABLES:
            self._in_table(front, verb, fields)

    # Files

    def _in_files(self, front: Window, verb: str, fields: Mapping[str, str]) -> None:
        if verb == "up":
            front.place = parent(front.place)
            return
        if verb == "new":
            self.dialog = Dialog("New folder", front.place)
            return
        path = join(front.place, fields.get("item", ""))
        if path not in self.disk or path == front.place:
            self.said = "Select something first."
        elif verb == "open" and self.disk[path] is None:
            front.place = path
        elif verb == "open":
            self.show(path)
        elif verb == "rename":
            self.dialog = Dialog("Rename", path)
        elif verb == "move":
            self.dialog = Dialog("Move", path)
        elif verb == "delete":
            self.dialog = Dialog("Delete", path)

    def show(self, path: str) -> None:
        """Open a file in a new window of the editor."""
        text = self.disk.get(path)
        if text is None:
            return
        count = len(self.windows)
        self._open(Window("Editor", path, text))
        if len(self.windows) > count:
            self._has_seen(text)

    def _has_seen(self, text: str) -> None:
        if text not in self.read:
            self.read.append(text)

    def _answer(self, dialog: Dialog, verb: str, fields: Mapping[str, str]) -> None:
        """Answer a dialogue box; only its own buttons do anything."""
        if verb not in ("ok", "cancel"):
            return
        self.dialog = None
        if verb == "cancel":
            return
        path, name = dialog.path, fields.get("name", "")
        folder = "" if fields.get("folder", "Home") == "Home" else fields["folder"]
        if dialog.kind == "Delete":
            self._drop(path)
        elif dialog.kind == "Rename":
            self._move(path, parent(path), name)
        elif dialog.kind == "Move":
            self._move(path, folder, name_of(path))
        elif dialog.kind == "New folder":
            self._put(path, name, None)
        elif dialog.kind == "Open":
            self.show(fields.get("file", ""))
        elif dialog.kind == "Backup":
            self.disk["Backup"] = None
        elif dialog.kind in ("New", "Edit"):
            self._keep_row(dialog, fields)
        elif self.front is not None and self._put(folder, name, self.front.text):
            self.front.place = join(folder, name)
            self._has_seen(self.front.text)

    def _free(self, folder: str, name: str) -> bool:
        """Whether a file or folder may be created there; if not, `said` explains why."""
        if folder not in folders(self.disk):
            self.said = f"There is no folder {folder}."
        elif not _NAME.fullmatch(name) or name != name.strip() or not name.strip("."):
            self.said = f"{name!r} is no name for a file."
        elif join(folder, name) in self.disk:
            self.said = f"There is already {join(folder, name)}."
        return not self.said

    def _put(self, folder: str, name: str, text: str | None) -> bool:
        if not self._free(folder, name):
            return False
        self.disk[join(folder, name)] = text
        return True

    def _move(self, path: str, folder: str, name: str) -> None:
        to = join(folder, name)
        if f"{to}/".startswith(f"{path}/") and to != path:
            self.said = "A folder cannot be put into itself."
        elif self._free(folder, name):
            moved = {
                to + other[len(path) :]: text
                for other, text in self.disk.items()
                if f"{other}/".startswith(f"{path}/")
            }
            self._drop(path)
            self.disk.update(moved)
            for window in self.windows:
                if f"{window.place}/".startswith(f"{path}/"):
                    window.place = to + window.place[len(path) :]

    def _drop(self, path: str) -> None:
        for other in [other for other in self.disk if f"{other}/".startswith(f"{path}/")]:
            del self.disk[other]

    # Rows

    def _show_rows(self, front: Window) -> None:
        """Remember what the screen shows: every row, and the inside of the one that is open."""
        shown = [*paths_of(self.disk, front.app), f"{front.place}/{TABLES[front.app].inner}"]
        for path in shown:
            text = self.disk.get(path)
            if text is not None:
                self._has_seen(text)

    def opened(self, front: Window) -> Row | None:
        """The row that is open in a window."""
        return read_row(self.disk, front.place) if front.place in self.disk else None

    def _in_table(self, front: Window, verb: str, fields: Mapping[str, str]) -> None:
        path = f"@{front.app}/{fields.get('item', '')}"
        if verb == "new":
            self.dialog = Dialog("New", f"@{front.app}")
        elif path not in self.disk:
            self.said = "Select something first."
        elif verb == "edit":
            self.dialog = Dialog("Edit", path)
        elif verb == "delete":
            self.dialog = Dialog("Delete", path)
        elif verb == "open" and TABLES[front.app].inner:
            front.place = path

    def _keep_row(self, dialog: Dialog, fields: Mapping[str, str]) -> None:
        """Add or change a row by the form in the dialogue box."""
        app = app_of(dialog.path)
        old = read_row(self.disk, dialog.path) if dialog.kind == "Edit" else None
        row = row_of(app, fields, old)
        if row is None:
            self.said = "Nothing was kept: a field was empty."
            return
        path = dialog.path if old is not None else add_row(self.disk, app, row)
        put_row(self.disk, path, row)
        if old is None and TABLES[app].inner:
            self._has_seen(row[TABLES[app].inner])

    # The other applications

    def _in_editor(self, front: Window, verb: str, menu_was_open: bool) -> None:
        if verb == "menu":
            self.menu = not menu_was_open
        elif verb == "save" and self.disk.get(front.place) is not None:
            self.disk[front.place] = front.text
            self._has_seen(front.text)
            self.said = "Saved."
        elif verb in ("save", "save-as"):
            self.dialog = Dialog("Save as", front.place)
        elif verb == "open":
            self.dialog = Dialog("Open")

    def _apply(self, fields: Mapping[str, str]) -> None:
        for name in SWITCHES:
            self.settings[name] = "on" if name in fields else "off"
        for name, values in CHOICES.items():
            if fields.get(name) in values:
                self.settings[name] = fields[name]
        self.said = "Settings applied."


def result_of(text: str) -> str:
    """The calculator's result for a text such as `12 + 30`."""
    match = _SUM.fullmatch(text)
    if match is None:
        return "Write two whole numbers with +, - or * between them."
    a, b = int(match[1]), int(match[3])
    return str({"+": a + b, "-": a - b, "*": a * b}[match[2]])
