"""An agent that does every job at the desktop from what the screen shows."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from palestra import InvalidOption, TextAction, Turn, agent

from palestra_web.actions import Click, Fill, Select, Stop
from palestra_web.desktop.site import Desktop
from palestra_web.plays import GeneratorAgent
from palestra_web.reading import ScreenElement, find, read_lines, task_of

Look = Sequence[ScreenElement]
Script = Generator[TextAction, Look, Look]


@agent("desktop-clerk")
class DesktopClerk(GeneratorAgent):
    """Does every job at the desktop by a script."""

    plays = (Desktop,)

    def begin(self, turn: Turn) -> Generator[TextAction, Look, None]:
        return do(task_of(turn), read_lines(turn.position))

    def read_turn(self, turn: Turn) -> Look:
        return read_lines(turn.position)


@dataclass
class Hand:
    """The clerk's actions at the desktop; every method is a fragment of a script."""

    look: Look  # the lines on the screen

    def do(self, action: TextAction) -> Generator[TextAction, Look, None]:
        """Act, and cancel the backup if the machine proposes one."""
        self.look = yield action
        if any(line.role == "region" and "backup" in line.name for line in self.look):
            self.look = yield Click(find(self.look, "button", "Cancel").number)

    def press(self, *names: str) -> Generator[TextAction, Look, None]:
        for name in names:
            yield from self.do(Click(find(self.look, "button", name).number))

    def pick(self, name: str) -> Generator[TextAction, Look, None]:
        yield from self.do(Click(find(self.look, "radio", name).number))

    def type(self, field: str, text: str) -> Generator[TextAction, Look, None]:
        yield from self.do(Fill(find(self.look, "textbox", field).number, text))

    def select(self, field: str, option: str) -> Generator[TextAction, Look, None]:
        box = find(self.look, "combobox", field)
        if box.value != option:
            yield from self.do(Select(box.number, option))

    # Scripts of several actions

    def go_to(self, folder: str) -> Generator[TextAction, Look, None]:
        """Show a folder in the file manager."""
        yield from self.press("Files")
        while self.has("button", "Up"):
            yield from self.press("Up")
        for name in folder.split("/") if folder else ():
            yield from self.pick(f"{name}/")
            yield from self.press("Open")

    def at(self, path: str, verb: str) -> Generator[TextAction, Look, None]:
        """Do something with a file in the file manager."""
        folder, _, name = path.rpartition("/")
        yield from self.go_to(folder)
        yield from self.pick(name)
        yield from self.press(verb)

    def delete(self, path: str) -> Generator[TextAction, Look, None]:
        yield from self.at(path, "Delete")
        yield from self.press("OK")

    def move(self, path: str, folder: str) -> Generator[TextAction, Look, None]:
        yield from self.at(path, "Move")
        yield from self.select("Folder", folder)
        yield from self.press("OK")

    def read(self, path: str) -> Generator[TextAction, Look, str]:
        """Open a file; returns its text."""
        yield from self.at(path, "Open")
        return find(self.look, "textbox", "Text").value

    def save(
        self, text: str, folder: str = "", name: str = ""
    ) -> Generator[TextAction, Look, None]:
        """Put a text into the front editor and save it, under a new name if one is given."""
        yield from self.type("Text", text)
        yield from self.press("File", "Save as" if name else "Save")
        if name:
            yield from self.select("Folder", folder)
            yield from self.type("Name", name)
            yield from self.press("OK")

    def choose(self, name: str, value: str) -> Generator[TextAction, Look, None]:
        yield from self.press("Settings")
        yield from self.select(name, value)
        yield from self.press("Apply")

    def switch(self, name: str, state: str) -> Generator[TextAction, Look, None]:
        yield from self.press("Settings")
        box = find(self.look, "checkbox", name)
        if box.chosen != (state == "on"):
            yield from self.do(Click(box.number))
            yield from self.press("Apply")

    def all_files(self, folder: str = "") -> Generator[TextAction, Look, list[str]]:
        """The paths of all files in a folder and below it."""
        yield from self.go_to(folder)
        names = [line.name for line in self.look if line.role == "radio"]
        found = [f"{folder}/{name}".lstrip("/") for name in names]
        paths = [path for path in found if not path.endswith("/")]
        for deeper in [path for path in found if path.endswith("/")]:
            paths += yield from self.all_files(deeper.rstrip("/"))
        return paths

    def has(self, role: str, name: str) -> bool:
        return any(line.role == role and line.name == name for line in self.look)


def do(task: str, look: Look) -> Generator[TextAction, Look, None]:
    """The script of a whole job, with the final stop."""
    yield from work(task, Hand(look))
    yield Stop()


def work(task: str, hand: Hand) -> Generator[TextAction, Look, None]:
    """The script of a job, recognised by its text; names and contents are in quotation marks."""
    quoted = re.findall(r'"([^"]*)"', task)
    if task.startswith('Press "Settings"'):
        yield from hand.press("Settings")
        yield from hand.do(Click(find(hand.look, "checkbox", quoted[1]).number))
        yield from hand.press("Apply")
    elif task.startswith('Press "Files"'):
        yield from hand.delete(quoted[1] + quoted[3])
    elif task.startswith("Set"):
        yield from hand.choose(quoted[0], quoted[1])
    elif task.startswith("Rename"):
        yield from hand.at(quoted[0], "Rename")
        yield from hand.type("Name", quoted[1])
        yield from hand.press("OK")
    elif task.startswith("Move"):
        yield from hand.move(quoted[0], quoted[1])
    elif task.startswith("Make"):
        yield from hand.go_to(quoted[1])
        yield from hand.press("New folder")
        yield from hand.type("Name", quoted[0])
        yield from hand.press("OK")
    elif task.startswith("Write"):
        yield from hand.press("Editor")
        yield from hand.save(quoted[1], quoted[2], quoted[0])
    elif task.startswith("In the file"):
        text = yield from hand.read(quoted[0])
        yield from hand.save(text.replace(quoted[1], quoted[2]))
    elif task.startswith("Somewhere"):
        paths = yield from hand.all_files()
        yield from hand.delete(next(p for p in paths if p.split("/")[-1] == quoted[0]))
    elif task.startswith("Add up"):
        yield from add_up(hand, *quoted)
    elif "orders.txt" in task:
        yield from follow_orders(hand, quoted[0])
    elif "wishes" in task:
        yield from look_after(hand, quoted[0])
    else:
        raise InvalidOption(f"{task!r} is not a job of web/Desktop-v0")


def add_up(
    hand: Hand, one: str, other: str, name: str, folder: str
) -> Generator[TextAction, Look, None]:
    a = yield from hand.read(one)
    b = yield from hand.read(other)
    yield from hand.press("Calculator")
    yield from hand.type("Sum", f"{a} + {b}")
    yield from hand.press("=")
    total = next(line.name for line in hand.look if line.role == "paragraph")
    yield from hand.press("Editor")
    yield from hand.save(total, folder, name)


def follow_orders(hand: Hand, path: str) -> Generator[TextAction, Look, None]:
    orders = yield from hand.read(path)
    for order in orders.splitlines():
        if order.startswith("delete "):
            yield from hand.delete(order.removeprefix("delete "))
        elif order.startswith("set "):
            name, value = order.removeprefix("set ").split(" to ")
            yield from hand.choose(name, value)
        else:
            text, into = order.removeprefix("write ").split(" into ")
            yield from hand.read(into)
            yield from hand.save(text)


def look_after(hand: Hand, path: str) -> Generator[TextAction, Look, None]:
    wishes = yield from hand.read(path)
    ((home, name, state),) = re.findall(r"belongs in (\w+)\nI want (.+) (on|off)", wishes)
    paths = yield from hand.all_files()
    for each in paths:
        if each.endswith(".tmp"):
            yield from hand.delete(each)
        elif each.startswith("Downloads/"):
            yield from hand.move(each, home)
    yield from hand.switch(name, state)
