"""Jobs at the desktop: what a job is, and those with files and settings.

They have OS-MAP's five levels of automation, and a scope: the need of daily life that they serve.
Jobs with mail, calendar and other rows are in `row_jobs`.

A job is drawn by a function of two generators: one for what is visible at once (names, settings),
one for what is secret (the contents of files). It states exactly the files and settings required at
the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from palestra import Rng

from palestra_web.desktop.machine import CHOICES, SWITCHES, Settings, name_of, parent
from palestra_web.desktop.tables import ALBUMS, DAYS, TIMES, Disk, Row, add_row, same

LEVELS = {
    1: "execution: every step is told",
    2: "planning: the goal is told",
    3: "adaptability: things stand elsewhere than told, or get in the way",
    4: "orchestration: several applications, or orders that stand in a file",
    5: "autonomy: nothing is told but where wishes are written down",
}
SCOPES = ("system", "documents", "communication", "planning", "household", "media", "several")
FOLDERS = ("Documents", "Downloads", "Pictures")
STEMS = (
    *("budget", "diary", "guests", "invoice", "letter", "minutes", "outline", "plan", "recipe"),
    *("report", "review", "schedule", "sketch", "summary", "thesis", "travel"),
)
WORDS = (
    *("apple", "birch", "canal", "dune", "eagle", "flute", "glass", "hill", "inlet", "jade"),
    *("kite", "lamp", "moss", "north", "oak", "pearl", "quartz", "river", "stone", "tulip"),
)
FIRSTS = {  # what the first column of a row may say
    "Calendar": ("Dentist", "Choir", "Lunch", "Rehearsal", "Interview", "Haircut", "Seminar"),
    "Contacts": ("Ada", "Bo", "Chen", "Dana", "Emil", "Fay", "Goro", "Hana"),
    "Tasks": ("water plants", "pay rent", "call plumber", "return books", "renew pass", "bake"),
    "Expenses": ("rent", "train", "books", "cinema", "shoes", "lamp", "repairs"),
    "Clock": ("Work", "Gym", "Medicine", "Tea", "Market"),
    "Shopping": ("milk", "bread", "rice", "apples", "soap", "coffee", "candles"),
    "Photos": ("river", "bridge", "snow", "stalls", "cat", "lighthouse", "barn", "kite"),
}
SUBJECTS = ("Rent", "Party", "Holiday", "Bill", "Lost keys", "Parcel", "Concert", "Garden")
ROWS = {  # at the start
    "Calendar": 5,
    "Contacts": 5,
    "Tasks": 4,
    "Expenses": 4,
    "Clock": 3,
    "Shopping": 4,
    "Photos": 5,
}


@dataclass(frozen=True)
class Job:
    """A job: the request, the state at the start, and the state required at the end."""

    name: str  # one of JOBS
    level: int  # one of LEVELS
    scope: str  # one of SCOPES
    words: str  # what the player is asked to do
    disk: Disk  # at the start
    settings: Settings  # at the start
    wanted: Disk  # at the end
    wanted_settings: Settings  # at the end
    typed: tuple[str, ...] = ()  # texts that the player has to type
    about: tuple[str, ...] = ()  # paths of the files whose contents say what is wanted
    backup_at: int = -1  # the action after which the machine proposes a backup; -1: never

    def solved(self, disk: Disk, settings: Settings) -> bool:
        """Whether files and settings are exactly as required."""
        return same(disk, self.wanted) and settings == self.wanted_settings


Maker = Callable[[Rng, Rng], Job]


class Kind(NamedTuple):
    """A kind of job."""

    level: int
    scope: str
    maker: Maker


JOBS: dict[str, Kind] = {}


def job(level: int, scope: str, name: str = "") -> Callable[[Maker], Maker]:
    """Add a kind of job to `JOBS`; the function `add_up` becomes add-up unless it has a name."""

    def keep(make: Maker) -> Maker:
        JOBS[name or make.__name__.replace("_", "-")] = Kind(level, scope, make)
        return make

    return keep


def make(name: str, seen: Rng, secret: Rng) -> Job:
    """Draw the job of a name, from a generator for what is seen and one for the secret."""
    level, scope, maker = JOBS[name]
    return replace(maker(seen, secret), name=name, level=level, scope=scope)


def sentence(rng: Rng, count: int = 5) -> str:
    """Random filler words."""
    return " ".join([rng.choice(WORDS) for _ in range(count)])


def some(rng: Rng, items: Sequence[str], count: int) -> list[str]:
    """Distinct items in a random order."""
    left = list(items)
    rng.shuffle(left)
    return left[:count]


def start(seen: Rng, secret: Rng) -> tuple[Disk, Settings]:
    """Seven notes in three folders, random settings, and some rows in every application."""
    disk: Disk = dict.fromkeys(FOLDERS)
    for stem in some(seen, STEMS, 7):
        disk[f"{seen.choice(FOLDERS[:2])}/{stem}.txt"] = sentence(secret)
    settings = {name: seen.choice(("on", "off")) for name in SWITCHES}
    settings |= {name: seen.choice(values) for name, values in CHOICES.items()}
    for app, count in ROWS.items():
        for first in some(seen, FIRSTS[app], count):
            add_row(disk, app, entry(app, first, secret))
    for subject in some(seen, SUBJECTS, 5):
        add_row(disk, "Mail", mail(seen, secret, subject, seen.choice(("Inbox", "Archive"))))
    return disk, settings


def entry(app: str, first: str, rng: Rng) -> Row:
    """A random row that begins with a word."""
    day, time = rng.choice(DAYS), rng.choice(TIMES)
    made: dict[str, Row] = {
        "Calendar": {"Title": first, "Day": day, "Time": time},
        "Contacts": {
            "Name": first,
            "Phone": f"555-{rng.between(1000, 9999)}",
            "Address": f"{first.lower()}@{rng.choice(WORDS)}.org",
        },
        "Tasks": {"Title": first, "Due": day, "State": rng.choice(("open", "done"))},
        "Expenses": {"Item": first, "Amount": str(rng.between(2, 400))},
        "Clock": {"Label": first, "Time": time, "State": rng.choice(("on", "off"))},
        "Shopping": {"Item": first, "Count": str(rng.between(1, 9))},
        "Photos": {
            "Title": first,
            "Album": rng.choice(ALBUMS),
            "Favourite": rng.choice(("yes", "no")),
        },
    }
    return made[app]


def mail(seen: Rng, secret: Rng, subject: str, box: str) -> Row:
    """A mail from somebody, whose text is secret."""
    sender = seen.choice(FIRSTS["Contacts"])
    return {"Box": box, "From": sender, "To": "me", "Subject": subject, "Text": sentence(secret)}


def notes(disk: Disk) -> list[str]:
    """The paths of all files, in order."""
    return [path for path in texts(disk) if not path.startswith("@")]


def texts(disk: Disk) -> list[str]:
    """The paths of all files and rows, in order."""
    return sorted(path for path, text in disk.items() if text is not None)


def unchanged_job(
    words: str,
    disk: Disk,
    settings: Settings,
    typed: tuple[str, ...] = (),
    about: tuple[str, ...] = (),
) -> Job:
    """A job that requires no change yet; the caller changes its `wanted`."""
    return Job("", 0, "", words, disk, settings, dict(disk), dict(settings), typed, about)


def redraw(job: Job, seed: int, read: Sequence[str], rng: Rng) -> tuple[Job, dict[str, str]]:
    """The job with new contents for files not yet `read`, and the new text for each old one.

    Once a file that the job is about has been read, the requirements no longer change.
    """
    other = make(job.name, Rng(seed), Rng(rng.word()))
    known = any(job.disk[path] in read for path in job.about)
    fresh, back = {}, {}
    for path in texts(job.disk):
        old, new = str(job.disk[path]), str(other.disk[path])
        if old in read or (known and path in job.about):
            back[new] = old
        else:
            fresh[old] = new
    if known:
        return replace(
            job, disk=with_texts(job.disk, fresh), wanted=with_texts(job.wanted, fresh)
        ), fresh
    return replace(
        other, disk=with_texts(other.disk, back), wanted=with_texts(other.wanted, back)
    ), fresh


def with_texts(disk: Disk, texts: Mapping[str, str]) -> Disk:
    """A disk in which some texts are replaced by others."""
    return {path: text and texts.get(text, text) for path, text in disk.items()}


# Level 1


@job(1, "system")
def flip_a_switch(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    switch = seen.choice(SWITCHES)
    words = f'Press "Settings", click the box "{switch}" and press "Apply". Then stop.'
    made = unchanged_job(words, disk, settings)
    made.wanted_settings[switch] = "off" if settings[switch] == "on" else "on"
    return made


@job(1, "documents")
def delete_step_by_step(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path = seen.choice(notes(disk))
    words = (
        f'Press "Files", pick "{parent(path)}/" and press "Open". Pick "{name_of(path)}" and press '
        '"Delete", then press "OK". Then stop.'
    )
    made = unchanged_job(words, disk, settings)
    del made.wanted[path]
    return made


# Level 2


@job(2, "system")
def choose_a_setting(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    name = seen.choice(tuple(CHOICES))
    value = seen.choice([value for value in CHOICES[name] if value != settings[name]])
    made = unchanged_job(f'Set "{name}" to "{value}".', disk, settings)
    made.wanted_settings[name] = value
    return made


@job(2, "documents")
def rename_a_file(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path = seen.choice(notes(disk))
    name = f"{seen.choice(WORDS)}.txt"
    words = f'Rename the file "{path}" to "{name}".'
    made = unchanged_job(words, disk, settings, (name,))
    made.wanted[f"{parent(path)}/{name}"] = made.wanted.pop(path)
    return made


@job(2, "documents")
def move_a_file(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path = seen.choice(notes(disk))
    folder = seen.choice([folder for folder in FOLDERS if folder != parent(path)])
    made = unchanged_job(f'Move the file "{path}" to the folder "{folder}".', disk, settings)
    made.wanted[f"{folder}/{name_of(path)}"] = made.wanted.pop(path)
    return made


@job(2, "documents")
def make_a_folder(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    folder, name = seen.choice(FOLDERS), seen.choice(WORDS)
    made = unchanged_job(f'Make a folder "{name}" in "{folder}".', disk, settings, (name,))
    made.wanted[f"{folder}/{name}"] = None
    return made


@job(2, "documents")
def write_a_note(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    name, text = f"{seen.choice(WORDS)}.txt", sentence(seen)
    folder = seen.choice(FOLDERS)
    words = f'Write the note "{name}" with the text "{text}" and save it in "{folder}".'
    made = unchanged_job(words, disk, settings, (name, text))
    made.wanted[f"{folder}/{name}"] = text
    return made


# Level 3


@job(3, "documents")
def mend_a_word(seen: Rng, secret: Rng) -> Job:
    """The rest of the text has to be read first."""
    disk, settings = start(seen, secret)
    path = seen.choice(notes(disk))
    first, last = sentence(secret, 3), sentence(secret, 2)
    disk[path] = f"{first} worng {last}"
    words = f'In the file "{path}" replace the word "worng" by "wrong" and save it.'
    made = unchanged_job(words, disk, settings, about=(path,))
    made.wanted[path] = f"{first} wrong {last}"
    return made


@job(3, "documents")
def hunt_a_file(seen: Rng, secret: Rng) -> Job:
    """The task does not say where the file is, and another has nearly the same name."""
    disk, settings = start(seen, secret)
    folder = seen.choice(notes(disk)).split("/")[0]
    deep = f"{folder}/{seen.choice(WORDS)}"
    disk[deep] = None
    path = seen.choice((f"{deep}/old.txt", f"{seen.choice(FOLDERS)}/old.txt"))
    disk[path] = sentence(secret)
    disk[f"{seen.choice(FOLDERS)}/older.txt"] = sentence(secret)
    made = unchanged_job('Somewhere is a file "old.txt". Find it and delete it.', disk, settings)
    del made.wanted[path]
    return made


@job(3, "system")
def not_now(seen: Rng, secret: Rng) -> Job:
    """The machine proposes a backup in between, which nobody asked for."""
    made = choose_a_setting(seen, secret)
    return replace(made, backup_at=seen.between(1, 2))


# Level 4


@job(4, "several")
def add_up(seen: Rng, secret: Rng) -> Job:
    """Two files, the calculator, and a third file."""
    disk, settings = start(seen, secret)
    one, other = some(seen, notes(disk), 2)
    a, b = secret.between(100, 9999), secret.between(100, 9999)
    disk[one], disk[other] = str(a), str(b)
    numbers = f'Add up the numbers in "{one}" and "{other}"'
    words = f'{numbers} and save the sum as "total.txt" in "Documents".'
    made = unchanged_job(words, disk, settings, ("total.txt",), (one, other))
    made.wanted["Documents/total.txt"] = str(a + b)
    return made


@job(4, "several")
def follow_orders(seen: Rng, secret: Rng) -> Job:
    """Orders in a file, one for the files, one for the settings, one for the editor."""
    disk, settings = start(seen, secret)
    path, other = some(secret, notes(disk), 2)
    wallpaper = secret.choice([v for v in CHOICES["Wallpaper"] if v != settings["Wallpaper"]])
    text = sentence(secret)
    orders = (f"delete {path}", f"set Wallpaper to {wallpaper}", f"write {text} into {other}")
    disk["Documents/orders.txt"] = "\n".join(orders)
    words = 'Do everything that "Documents/orders.txt" says, and leave that file as it is.'
    made = unchanged_job(words, disk, settings, about=("Documents/orders.txt",))
    del made.wanted[path]
    made.wanted[other] = text
    made.wanted_settings["Wallpaper"] = wallpaper
    return made


# Level 5


@job(5, "several")
def look_after_it(seen: Rng, secret: Rng) -> Job:
    """Standing wishes; what they call for depends on the files and settings."""
    disk, settings = start(seen, secret)
    for stem in some(seen, WORDS, 2):
        disk[f"{seen.choice(FOLDERS)}/{stem}.tmp"] = sentence(secret)
    switch, state = secret.choice(SWITCHES), secret.choice(("on", "off"))
    home = secret.choice(("Documents", "Pictures"))
    wishes = (
        "files that end in .tmp may go",
        f"what is left in Downloads belongs in {home}",
        f"I want {switch} {state}",
    )
    disk["wishes.txt"] = "\n".join(wishes)
    words = 'I am away. Look after my computer as I like it; my wishes are in "wishes.txt".'
    made = unchanged_job(words, disk, settings, about=("wishes.txt",))
    for path in [path for path in disk if path.endswith(".tmp")]:
        del made.wanted[path]
    for path in [path for path in made.wanted if parent(path) == "Downloads"]:
        made.wanted[f"{home}/{name_of(path)}"] = made.wanted.pop(path)
    made.wanted_settings[switch] = state
    return made
