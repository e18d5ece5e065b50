"""An agent that does every job at the desktop from what the screen shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass

from palestra import InvalidOption, TextAction, Turn, agent

from palestra_web.actions import Click, Fill, Select, Stop
from palestra_web.desktop.site import Desktop
from palestra_web.desktop.tables import DAYS, TABLES, TIMES
from palestra_web.plays import GeneratorAgent
from palestra_web.reading import ScreenElement, find, read_lines, task_of

Look = Sequence[ScreenElement]
Moves = Generator[TextAction, Look, None]


@agent("desktop-clerk")
class DesktopClerk(GeneratorAgent):
    """Does every job at the desktop by a script."""

    plays = (Desktop,)

    def begin(self, turn: Turn) -> Moves:
        return do(task_of(turn), read_lines(turn.position))

    def read_turn(self, turn: Turn) -> Look:
        return read_lines(turn.position)


@dataclass
class Hand:
    """The clerk's actions at the desktop; every method is a fragment of a script."""

    look: Look  # the lines on the screen

    def do(self, action: TextAction) -> Moves:
        """Act, and cancel the backup if the machine proposes one."""
        self.look = yield action
        if any(line.role == "region" and "backup" in line.name for line in self.look):
            self.look = yield Click(find(self.look, "button", "Cancel").number)

    def press(self, *names: str) -> Moves:
        for name in names:
            yield from self.do(Click(find(self.look, "button", name).number))

    def pick(self, name: str) -> Moves:
        yield from self.do(Click(find(self.look, "radio", name).number))

    def type(self, field: str, text: str) -> Moves:
        yield from self.do(Fill(find(self.look, "textbox", field).number, text))

    def select(self, field: str, option: str) -> Moves:
        box = find(self.look, "combobox", field)
        if box.value != option:
            yield from self.do(Select(box.number, option))

    # Scripts of several actions

    def go_to(self, folder: str) -> Moves:
        """Show a folder in the file manager."""
        yield from self.press("Files")
        while self.has("button", "Up"):
            yield from self.press("Up")
        for name in folder.split("/") if folder else ():
            yield from self.pick(f"{name}/")
            yield from self.press("Open")

    def at(self, path: str, verb: str) -> Moves:
        """Do something with a file in the file manager."""
        folder, _, name = path.rpartition("/")
        yield from self.go_to(folder)
        yield from self.pick(name)
        yield from self.press(verb)

    def delete(self, path: str) -> Moves:
        yield from self.at(path, "Delete")
        yield from self.press("OK")

    def move(self, path: str, folder: str) -> Moves:
        yield from self.at(path, "Move")
        yield from self.select("Folder", folder)
        yield from self.press("OK")

    def read(self, path: str) -> Generator[TextAction, Look, str]:
        """Open a file; returns its text."""
        yield from self.at(path, "Open")
        return find(self.look, "textbox", "Text").value

    def save(self, text: str, folder: str = "", name: str = "") -> Moves:
        """Put a text into the front editor and save it, under a new name if one is given."""
        yield from self.type("Text", text)
        yield from self.press("File", "Save as" if name else "Save")
        if name:
            yield from self.select("Folder", folder)
            yield from self.type("Name", name)
            yield from self.press("OK")

    def choose(self, name: str, value: str) -> Moves:
        yield from self.press("Settings")
        yield from self.select(name, value)
        yield from self.press("Apply")

    def switch(self, name: str, state: str) -> Moves:
        yield from self.press("Settings")
        box = find(self.look, "checkbox", name)
        if box.chosen != (state == "on"):
            yield from self.do(Click(box.number))
            yield from self.press("Apply")

    def sum_of(self, one: str, other: str) -> Generator[TextAction, Look, str]:
        """The calculator's sum of two numbers."""
        yield from self.press("Calculator")
        yield from self.type("Sum", f"{one} + {other}")
        yield from self.press("=")
        return next(line.name for line in self.look if line.role == "paragraph")

    # Applications that keep rows

    def rows(self, app: str) -> Generator[TextAction, Look, list[dict[str, str]]]:
        """The rows that an application lists, by column."""
        yield from self.press(app)
        names, lines = TABLES[app].listed, [line for line in self.look if line.role == "radio"]
        return [dict(zip(names, line.name.split(" | "), strict=True)) for line in lines]

    def on_row(self, app: str, verb: str, **values: str) -> Moves:
        """Press a button for the first row with these values."""
        for row in (yield from self.rows(app)):
            if values.items() <= row.items():
                yield from self.pick(" | ".join(row.values()))
                yield from self.press(verb)
                return
        raise LookupError(f"no row of {app} with {values}")

    def fill(self, row: Mapping[str, str], app: str) -> Moves:
        """Fill in the form of a row and keep it."""
        for name, value in row.items():
            if TABLES[app].columns[name]:
                yield from self.select(name, value)
            else:
                yield from self.type(name, value)
        yield from self.press("OK")

    def add(self, app: str, **row: str) -> Moves:
        yield from self.press(app, "New")
        yield from self.fill(row, app)

    def change(self, app: str, row: Mapping[str, str], **values: str) -> Moves:
        if not values.items() <= row.items():
            yield from self.on_row(app, "Edit", **row)
            yield from self.fill(values, app)

    def drop(self, app: str, **row: str) -> Moves:
        yield from self.on_row(app, "Delete", **row)
        yield from self.press("OK")

    def mail_text(self, subject: str) -> Generator[TextAction, Look, str]:
        yield from self.on_row("Mail", "Open", Subject=subject)
        return next(line.name for line in self.look if line.role == "paragraph")

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


def do(task: str, look: Look) -> Moves:
    """The script of a whole job, with the final stop."""
    yield from work(task, Hand(look))
    yield Stop()


def work(task: str, hand: Hand) -> Moves:
    """The script of a job, recognised by its text; names and contents are in quotation marks."""
    quoted = re.findall(r'"([^"]*)"', task)
    for words, script in SCRIPTS.items():
        if re.match(words, task):
            yield from script(hand, *quoted)
            return
    raise InvalidOption(f"{task!r} is not a job of web/Desktop-v0")


def press_settings(hand: Hand, _: str, switch: str, *more: str) -> Moves:
    yield from hand.press("Settings")
    yield from hand.do(Click(find(hand.look, "checkbox", switch).number))
    yield from hand.press("Apply")


def press_files(hand: Hand, _: str, folder: str, __: str, name: str, *more: str) -> Moves:
    yield from hand.delete(folder + name)


def rename(hand: Hand, path: str, name: str) -> Moves:
    yield from hand.at(path, "Rename")
    yield from hand.type("Name", name)
    yield from hand.press("OK")


def make_folder(hand: Hand, name: str, folder: str) -> Moves:
    yield from hand.go_to(folder)
    yield from hand.press("New folder")
    yield from hand.type("Name", name)
    yield from hand.press("OK")


def write(hand: Hand, name: str, text: str, folder: str) -> Moves:
    yield from hand.press("Editor")
    yield from hand.save(text, folder, name)


def replace_word(hand: Hand, path: str, old: str, new: str) -> Moves:
    text = yield from hand.read(path)
    yield from hand.save(text.replace(old, new))


def hunt(hand: Hand, name: str) -> Moves:
    paths = yield from hand.all_files()
    yield from hand.delete(next(p for p in paths if p.split("/")[-1] == name))


def add_up(hand: Hand, one: str, other: str, name: str, folder: str) -> Moves:
    a = yield from hand.read(one)
    b = yield from hand.read(other)
    total = yield from hand.sum_of(a, b)
    yield from hand.press("Editor")
    yield from hand.save(total, folder, name)


def follow_orders(hand: Hand, path: str) -> Moves:
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


def look_after(hand: Hand, path: str) -> Moves:
    """Follow standing wishes, each recognised by its words."""
    wishes = yield from hand.read(path)
    for wish in wishes.splitlines():
        for words, script in WISHES.items():
            if found := re.fullmatch(words, wish):
                yield from script(hand, *found.groups())
                break
        else:
            raise InvalidOption(f"{wish!r} is not a wish of web/Desktop-v0")


def drop_temporary(hand: Hand) -> Moves:
    for path in (yield from hand.all_files()):
        if path.endswith(".tmp"):
            yield from hand.delete(path)


def empty_downloads(hand: Hand, home: str) -> Moves:
    for path in (yield from hand.all_files("Downloads")):
        yield from hand.move(path, home)


def file_mail(hand: Hand, sender: str, box: str) -> Moves:
    for row in (yield from hand.rows("Mail")):
        if row["From"] == sender:
            yield from hand.change("Mail", row, Box=box)


def empty_inbox(hand: Hand, box: str) -> Moves:
    for row in (yield from hand.rows("Mail")):
        if row["Box"] == "Inbox":
            yield from hand.change("Mail", row, Box=box)


def drop_where(app: str, unwanted: Callable[[dict[str, str], str], bool]) -> Callable[..., Moves]:
    """A script that deletes the rows for which a test holds, given the words of the wish."""

    def script(hand: Hand, *words: str) -> Moves:
        for row in (yield from hand.rows(app)):
            if unwanted(row, *words[:1] or ("",)):
                yield from hand.drop(app, **row)

    return script


def change_where(
    app: str, column: str, value: int | str, wrong: Callable[[dict[str, str], str], bool]
) -> Callable[..., Moves]:
    """A script that changes rows; `value` is the new one, or its place in the words."""

    def script(hand: Hand, *words: str) -> Moves:
        new = words[value] if isinstance(value, int) else value
        for row in (yield from hand.rows(app)):
            if wrong(row, *words[:1] or ("",)):
                yield from hand.change(app, row, **{column: new})

    return script


# Jobs with rows


def set_row(hand: Hand, app: str, first: str, _: str, column: str, value: str, *more: str) -> Moves:
    yield from change_named(hand, app, column, first, value)


def change_named(hand: Hand, app: str, column: str, first: str, value: str) -> Moves:
    row = {("Subject" if app == "Mail" else next(iter(TABLES[app].columns))): first}
    yield from hand.change(app, row, **{column: value})


def add_listed(hand: Hand, app: str, *pairs: str) -> Moves:
    yield from hand.add(app, **dict(zip(pairs[::2], pairs[1::2], strict=True)))


def delete_named(hand: Hand, first: str, app: str = "Mail") -> Moves:
    column = "Subject" if app == "Mail" else next(iter(TABLES[app].columns))
    yield from hand.drop(app, **{column: first})


def put_mail(hand: Hand, subject: str, box: str) -> Moves:
    yield from hand.change("Mail", {"Subject": subject}, Box=box)


def send(hand: Hand, to: str, subject: str, text: str) -> Moves:
    yield from hand.add("Mail", To=to, Subject=subject, Text=text)


def wrong_number(hand: Hand, app: str, phone: str) -> Moves:
    yield from hand.drop(app, Phone=phone)


def overdue(hand: Hand, _: str, app: str, day: str, state: str) -> Moves:
    for row in (yield from hand.rows(app)):
        if DAYS.index(row["Due"]) < DAYS.index(day):
            yield from hand.change(app, row, State=state)


def twice(hand: Hand, app: str) -> Moves:
    rows = yield from hand.rows(app)
    yield from hand.drop(app, **next(row for row in rows if rows.count(row) == 2))


def dearest(hand: Hand, app: str) -> Moves:
    rows = yield from hand.rows(app)
    yield from hand.drop(app, **max(rows, key=lambda row: int(row["Amount"])))


def next_time(hand: Hand, name: str, app: str) -> Moves:
    rows = yield from hand.rows(app)
    row = next(row for row in rows if row["Label"] == name)
    yield from hand.change(app, row, Time=TIMES[TIMES.index(row["Time"]) + 1])


def junk(hand: Hand, sender: str, _: str, box: str) -> Moves:
    for row in (yield from hand.rows("Mail")):
        if (row["From"], row["Box"]) == (sender, "Inbox"):
            yield from hand.change("Mail", row, Box=box)


def clear(hand: Hand, app: str, album: str) -> Moves:
    for row in (yield from hand.rows(app)):
        if (row["Album"], row["Favourite"]) == (album, "no"):
            yield from hand.drop(app, **row)


def enter_date(hand: Hand, subject: str, title: str, app: str) -> Moves:
    day, time = (yield from hand.mail_text(subject)).split()
    yield from hand.add(app, Title=title, Day=day, Time=time)


def correct_number(hand: Hand, subject: str, name: str, app: str) -> Moves:
    phone = yield from hand.mail_text(subject)
    yield from hand.change(app, {"Name": name}, Phone=phone)


def save_sum(hand: Hand, app: str, name: str, folder: str) -> Moves:
    total = "0"
    for row in (yield from hand.rows(app)):
        total = yield from hand.sum_of(total, row["Amount"])
    yield from hand.press("Editor")
    yield from hand.save(total, folder, name)


def add_from_file(hand: Hand, path: str, app: str) -> Moves:
    text = yield from hand.read(path)
    for line in text.splitlines():
        item, count = line.split()
        yield from hand.add(app, Item=item, Count=count)


def tell_day(hand: Hand, name: str, app: str, title: str) -> Moves:
    people = yield from hand.rows(app)
    dates = yield from hand.rows("Calendar")
    address = next(row["Address"] for row in people if row["Name"] == name)
    day = next(row["Day"] for row in dates if row["Title"] == title)
    yield from send(hand, address, title, day)


def set_alarm(hand: Hand, title: str, app: str, calendar: str) -> Moves:
    dates = yield from hand.rows(calendar)
    time = next(row["Time"] for row in dates if row["Title"] == title)
    yield from hand.add(app, Label=title, Time=time, State="on")


def count_open(hand: Hand, to: str, subject: str, app: str) -> Moves:
    rows = yield from hand.rows(app)
    yield from send(hand, to, subject, str(sum(row["State"] == "open" for row in rows)))


SCRIPTS: dict[str, Callable[..., Moves]] = {  # by how the job begins
    'Press "Settings"': press_settings,
    'Press "Files"': press_files,
    'Press "': set_row,
    'Set "': Hand.choose,
    "Rename": rename,
    "Move the file": Hand.move,
    "Make": make_folder,
    "Write": write,
    "In the file": replace_word,
    "Somewhere": hunt,
    "Add up": add_up,
    'Do everything that "': follow_orders,
    "I am away": look_after,
    'In "': change_named,
    'Add to "': add_listed,
    'Delete the mail "': delete_named,
    "Delete the line": dearest,
    'Delete the "Photos"': clear,
    'Delete "': delete_named,
    "Put the mail": put_mail,
    "Put every mail": junk,
    'Send a mail to "[^"]*", subject': send,
    "Send a mail to the address": tell_day,
    'Send "': count_open,
    "Somebody": wrong_number,
    "Weeks begin": overdue,
    "One line": twice,
    "Set the alarm": next_time,
    'The mail "[^"]*" says': enter_date,
    'The mail "[^"]*" holds': correct_number,
    "Save the sum": save_sum,
    "Add what": add_from_file,
    "Add an alarm": set_alarm,
}
WISHES: dict[str, Callable[..., Moves]] = {
    r"files that end in \.tmp may go": drop_temporary,
    r"what is left in Downloads belongs in (\w+)": empty_downloads,
    r"I want (.+) (on|off)": Hand.switch,
    r"mail from (\w+) is (\w+), wherever it is": file_mail,
    r"other mail in Inbox belongs in (\w+)": empty_inbox,
    r"tasks that are done may go": drop_where("Tasks", lambda row, _: row["State"] == "done"),
    r"what is on (\w+) in Calendar belongs on (\w+)": change_where(
        "Calendar", "Day", 1, lambda row, day: row["Day"] == day
    ),
    r"never more than (\d+) of anything in Shopping": change_where(
        "Shopping", "Count", 0, lambda row, most: int(row["Count"]) > int(most)
    ),
    r"Expenses under (\d+) need not be kept": drop_where(
        "Expenses", lambda row, limit: int(row["Amount"]) < int(limit)
    ),
    r"favourites among Photos belong in (\w+)": change_where(
        "Photos", "Album", 0, lambda row, _: row["Favourite"] == "yes"
    ),
    r"the others in (\w+) may go": drop_where(
        "Photos", lambda row, album: (row["Album"], row["Favourite"]) == (album, "no")
    ),
}
