"""Jobs with mail, calendar, contacts, tasks, expenses, alarms, shopping and photos.

What a job asks is drawn by the generator for what is seen; the rows' contents are secret.
"""

from __future__ import annotations

from dataclasses import replace

from palestra import Rng

from palestra_web.desktop.jobs import FIRSTS, Job, entry, job, mail, notes, some, start
from palestra_web.desktop.jobs import unchanged_job as unchanged
from palestra_web.desktop.tables import (
    DAYS,
    TABLES,
    TIMES,
    Disk,
    Row,
    add_row,
    paths_of,
    put_row,
    read_row,
)

SCOPE = {
    "Calendar": "planning",
    "Contacts": "communication",
    "Tasks": "planning",
    "Expenses": "household",
    "Clock": "planning",
    "Shopping": "household",
    "Photos": "media",
}
GUESTS = ("Kim", "Lena", "Milo", "Nora")  # of whom nobody is in Contacts


def rows(disk: Disk, app: str) -> dict[str, Row]:
    """An application's rows by path."""
    return {path: read_row(disk, path) for path in paths_of(disk, app)}


def change(disk: Disk, path: str, **values: str) -> None:
    """Write other values into a row."""
    put_row(disk, path, read_row(disk, path) | values)


def drop(disk: Disk, path: str) -> None:
    """Take a row away."""
    for part in [part for part in disk if f"{part}/".startswith(f"{path}/")]:
        del disk[part]


def unused(disk: Disk, app: str) -> list[str]:
    """Words with which no row of an application begins yet."""
    first = next(iter(TABLES[app].columns))
    used = [row[first] for row in rows(disk, app).values()]
    return [word for word in FIRSTS[app] if word not in used]


def free_text(app: str, row: Row) -> tuple[str, ...]:
    """What has to be typed for a row."""
    return tuple(value for name, value in row.items() if not TABLES[app].columns[name])


# Levels 1 and 2: a row of any application is added, changed or deleted


def changed_row(app: str, seen: Rng, secret: Rng) -> tuple[Job, str, str, str]:
    """A job that changes one value of a row, without words; the row's name, column and value."""
    disk, settings = start(seen, secret)
    first, *others = TABLES[app].columns
    path = seen.choice(paths_of(disk, app))
    name, column = read_row(disk, path)[first], seen.choice(others)
    value = entry(app, name, seen)[column]
    while read_row(disk, path)[column] == value:
        put_row(disk, path, entry(app, name, secret))
    typed = () if TABLES[app].columns[column] else (value,)
    made = unchanged("", disk, settings, typed, (path,))
    change(made.wanted, path, **{column: value})
    return made, name, column, value


def add_kinds(app: str) -> None:
    """The four plain jobs of an application."""
    scope, low = SCOPE[app], app.lower()

    @job(1, scope, f"{low}-step-by-step")
    def step_by_step(seen: Rng, secret: Rng) -> Job:
        made, name, column, value = changed_row(app, seen, secret)
        words = (
            f'Press "{app}", pick the line that begins with "{name}" and press "Edit". Set '
            f'"{column}" to "{value}" and press "OK". Then stop.'
        )
        return replace(made, words=words)

    @job(2, scope, f"{low}-change")
    def change_one(seen: Rng, secret: Rng) -> Job:
        made, name, column, value = changed_row(app, seen, secret)
        return replace(made, words=f'In "{app}", set "{column}" of "{name}" to "{value}".')

    @job(2, scope, f"{low}-add")
    def add_one(seen: Rng, secret: Rng) -> Job:
        disk, settings = start(seen, secret)
        row = entry(app, seen.choice(unused(disk, app)), seen)
        listed = ", ".join(f'"{name}" "{value}"' for name, value in row.items())
        made = unchanged(f'Add to "{app}": {listed}.', disk, settings, free_text(app, row))
        add_row(made.wanted, app, row)
        return made

    @job(2, scope, f"{low}-delete")
    def delete_one(seen: Rng, secret: Rng) -> Job:
        disk, settings = start(seen, secret)
        path = seen.choice(paths_of(disk, app))
        name = next(iter(read_row(disk, path).values()))
        made = unchanged(f'Delete "{name}" from "{app}".', disk, settings)
        drop(made.wanted, path)
        return made


for each in SCOPE:
    add_kinds(each)


@job(1, "communication")
def mail_step_by_step(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path = seen.choice(paths_of(disk, "Mail"))
    words = (
        f'Press "Mail", pick the mail with the subject "{read_row(disk, path)["Subject"]}" and '
        'press "Edit". Set "Box" to "Junk" and press "OK". Then stop.'
    )
    made = unchanged(words, disk, settings)
    change(made.wanted, path, Box="Junk")
    return made


@job(2, "communication")
def mail_move(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path = seen.choice(paths_of(disk, "Mail"))
    row = read_row(disk, path)
    box = seen.choice([box for box in TABLES["Mail"].columns["Box"] if box != row["Box"]])
    made = unchanged(f'Put the mail "{row["Subject"]}" into the box "{box}".', disk, settings)
    change(made.wanted, path, Box=box)
    return made


@job(2, "communication")
def mail_send(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    guest = seen.choice(GUESTS)
    row = sent(f"{guest.lower()}@harbour.org", "Visit", f"Come on {seen.choice(DAYS)}")
    made = unchanged(send_words(row), disk, settings, (row["To"], row["Subject"], row["Text"]))
    add_row(made.wanted, "Mail", row)
    return made


@job(2, "communication")
def mail_delete(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path = seen.choice(paths_of(disk, "Mail"))
    subject = read_row(disk, path)["Subject"]
    made = unchanged(f'Delete the mail "{subject}".', disk, settings)
    drop(made.wanted, path)
    return made


def sent(to: str, subject: str, text: str) -> Row:
    """A mail that was sent."""
    return {"Box": "Sent", "From": "me", "To": to, "Subject": subject, "Text": text}


def send_words(row: Row) -> str:
    return f'Send a mail to "{row["To"]}", subject "{row["Subject"]}", text "{row["Text"]}".'


# Level 3: the row has to be found, or something gets in the way


def all_of(disk: Disk, *apps: str) -> tuple[str, ...]:
    """The paths of all rows of applications, for jobs that depend on every one of them."""
    return tuple(path for app in apps for path in paths_of(disk, app))


@job(3, "communication")
def whose_number(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    phone = f"555-{seen.between(100, 999)}"
    path = secret.choice(paths_of(disk, "Contacts"))
    change(disk, path, Phone=phone)
    words = f'Somebody in "Contacts" has the number "{phone}", which is wrong. Delete that contact.'
    made = unchanged(words, disk, settings, about=all_of(disk, "Contacts"))
    drop(made.wanted, path)
    return made


@job(3, "planning")
def overdue_tasks(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    day = seen.choice(DAYS[2:])
    change(disk, secret.choice(paths_of(disk, "Tasks")), Due=DAYS[0], State="open")
    words = f'Weeks begin on Monday. Set "State" of all "Tasks" due before "{day}" to "done".'
    made = unchanged(words, disk, settings, about=all_of(disk, "Tasks"))
    for path, row in rows(disk, "Tasks").items():
        if DAYS.index(row["Due"]) < DAYS.index(day):
            change(made.wanted, path, State="done")
    return made


@job(3, "household")
def listed_twice(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    paths = paths_of(disk, "Shopping")
    add_row(disk, "Shopping", read_row(disk, seen.choice(paths)))  # redrawn texts stay a pair
    words = 'One line of "Shopping" is there twice. Delete one of the two.'
    made = unchanged(words, disk, settings, about=all_of(disk, "Shopping"))
    drop(made.wanted, paths_of(disk, "Shopping")[-1])
    return made


@job(3, "household")
def dearest_expense(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    paths = paths_of(disk, "Expenses")
    for path, amount in zip(
        paths, some(secret, [str(9 * n) for n in range(3, 40)], 9), strict=False
    ):
        change(disk, path, Amount=amount)
    words = 'Delete the line of "Expenses" with the largest amount.'
    made = unchanged(words, disk, settings, about=tuple(paths))
    drop(made.wanted, max(paths, key=lambda path: int(read_row(disk, path)["Amount"])))
    return made


@job(3, "planning")
def later_alarm(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path = seen.choice(paths_of(disk, "Clock"))
    change(disk, path, Time=secret.choice(TIMES[:-1]))
    name = read_row(disk, path)["Label"]
    words = f'Set the alarm "{name}" in "Clock" to the next later time that can be chosen.'
    made = unchanged(words, disk, settings, about=(path,))
    later = TIMES[TIMES.index(read_row(disk, path)["Time"]) + 1]
    change(made.wanted, path, Time=later)
    return made


@job(3, "communication")
def junk_of_one(seen: Rng, secret: Rng) -> Job:
    """What a sender wrote stands in several boxes."""
    disk, settings = start(seen, secret)
    for box in ("Inbox", "Inbox", "Archive"):
        subject = f"Offer {seen.between(10, 99)}{len(disk)}"
        add_row(disk, "Mail", mail(seen, secret, subject, box) | {"From": "Zed"})
    words = 'Put every mail from "Zed" that is in the box "Inbox" into the box "Junk".'
    made = unchanged(words, disk, settings)
    for path, row in rows(disk, "Mail").items():
        if (row["From"], row["Box"]) == ("Zed", "Inbox"):
            change(made.wanted, path, Box="Junk")
    return made


@job(3, "media")
def clear_album(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    album = seen.choice(TABLES["Photos"].columns["Album"])
    one, other = some(secret, paths_of(disk, "Photos"), 2)
    change(disk, one, Album=album, Favourite="yes")
    change(disk, other, Album=album, Favourite="no")
    words = f'Delete the "Photos" of the album "{album}" that are no favourites.'
    made = unchanged(words, disk, settings, about=all_of(disk, "Photos"))
    for path, row in rows(disk, "Photos").items():
        if (row["Album"], row["Favourite"]) == (album, "no"):
            drop(made.wanted, path)
    return made


@job(3, "planning")
def not_during_that(seen: Rng, secret: Rng) -> Job:
    """A backup is proposed between two actions."""
    made = changed_row("Calendar", seen, secret)
    words = f'In "Calendar", set "{made[2]}" of "{made[1]}" to "{made[3]}".'
    return replace(made[0], words=words, backup_at=seen.between(1, 3))


# Level 4: several applications


@job(4, "several")
def proposed_date(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    title = seen.choice(unused(disk, "Calendar"))
    path = seen.choice(paths_of(disk, "Mail"))
    row = entry("Calendar", title, secret)
    change(disk, path, Text=f"{row['Day']} {row['Time']}")
    subject = read_row(disk, path)["Subject"]
    words = (
        f'The mail "{subject}" says when "{title}" is. Add it to "Calendar", and leave the mail '
        "where it is."
    )
    made = unchanged(words, disk, settings, (title,), (f"{path}/Text",))
    add_row(made.wanted, "Calendar", row)
    return made


@job(4, "communication")
def new_number(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path, person = seen.choice(paths_of(disk, "Mail")), seen.choice(paths_of(disk, "Contacts"))
    phone, name = f"555-{secret.between(100, 999)}", read_row(disk, person)["Name"]
    change(disk, path, Text=phone)
    subject = read_row(disk, path)["Subject"]
    words = f'The mail "{subject}" holds the new number of "{name}". Correct it in "Contacts".'
    made = unchanged(words, disk, settings, about=(f"{path}/Text", person))
    change(made.wanted, person, Phone=phone)
    return made


@job(4, "several")
def sum_of_expenses(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    words = 'Save the sum of all amounts in "Expenses" as "spent.txt" in "Documents".'
    made = unchanged(words, disk, settings, ("spent.txt",), all_of(disk, "Expenses"))
    total = sum(int(row["Amount"]) for row in rows(disk, "Expenses").values())
    made.wanted["Documents/spent.txt"] = str(total)
    return made


@job(4, "household")
def party_list(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path = seen.choice(notes(disk))
    wanted = [entry("Shopping", word, secret) for word in some(secret, unused(disk, "Shopping"), 2)]
    disk[path] = "\n".join(f"{row['Item']} {row['Count']}" for row in wanted)
    words = f'Add what is listed in "{path}" to "Shopping", an item and a count in each line.'
    made = unchanged(words, disk, settings, about=(path,))
    for row in wanted:
        add_row(made.wanted, "Shopping", row)
    return made


@job(4, "several")
def tell_when(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    date, person = seen.choice(paths_of(disk, "Calendar")), seen.choice(paths_of(disk, "Contacts"))
    title, name = read_row(disk, date)["Title"], read_row(disk, person)["Name"]
    words = (
        f'Send a mail to the address of "{name}" in "Contacts", subject "{title}", whose text is '
        "the day of that appointment in the calendar."
    )
    made = unchanged(words, disk, settings, (title, *DAYS), (date, person))
    address, day = read_row(disk, person)["Address"], read_row(disk, date)["Day"]
    add_row(made.wanted, "Mail", sent(address, title, day))
    return made


@job(4, "planning")
def alarm_for_it(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    path = seen.choice(paths_of(disk, "Calendar"))
    row = read_row(disk, path)
    words = f'Add an alarm "{row["Title"]}" to "Clock", on, at the time it has in "Calendar".'
    made = unchanged(words, disk, settings, (row["Title"],), (path,))
    add_row(made.wanted, "Clock", {"Label": row["Title"], "Time": row["Time"], "State": "on"})
    return made


@job(4, "several")
def open_tasks(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    guest = f"{seen.choice(GUESTS).lower()}@harbour.org"
    one, other = some(secret, paths_of(disk, "Tasks"), 2)
    change(disk, one, State="open")
    change(disk, other, State="done")
    words = f'Send "{guest}" a mail, subject "Open", whose text is the number of open "Tasks".'
    made = unchanged(words, disk, settings, (guest, "Open", *"1234"), all_of(disk, "Tasks"))
    count = sum(row["State"] == "open" for row in rows(disk, "Tasks").values())
    add_row(made.wanted, "Mail", sent(guest, "Open", str(count)))
    return made


# Level 5: standing wishes in a file


def wishing(disk: Disk, *wishes: str) -> str:
    """Write wishes into a file; the words of the job."""
    disk["wishes.txt"] = "\n".join(wishes)
    return 'I am away. Look after my computer as I like it; my wishes are in "wishes.txt".'


@job(5, "communication")
def mind_the_mail(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    senders = sorted({row["From"] for row in rows(disk, "Mail").values()})
    box = secret.choice(("Archive", "Sent"))
    pest = secret.choice(senders)
    words = wishing(
        disk, f"mail from {pest} is Junk, wherever it is", f"other mail in Inbox belongs in {box}"
    )
    made = unchanged(words, disk, settings, about=("wishes.txt",))
    for path, row in rows(disk, "Mail").items():
        if row["From"] == pest:
            change(made.wanted, path, Box="Junk")
        elif row["Box"] == "Inbox":
            change(made.wanted, path, Box=box)
    return made


@job(5, "planning")
def keep_the_week(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    off, instead = some(secret, DAYS, 2)
    change(disk, secret.choice(paths_of(disk, "Calendar")), Day=off)
    words = wishing(
        disk, "tasks that are done may go", f"what is on {off} in Calendar belongs on {instead}"
    )
    made = unchanged(
        words, disk, settings, about=("wishes.txt", *all_of(disk, "Tasks", "Calendar"))
    )
    for path, row in rows(disk, "Tasks").items():
        if row["State"] == "done":
            drop(made.wanted, path)
    for path, row in rows(disk, "Calendar").items():
        if row["Day"] == off:
            change(made.wanted, path, Day=instead)
    return made


@job(5, "household")
def keep_house(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    most, limit = secret.between(2, 5), secret.between(50, 300)
    words = wishing(
        disk,
        f"never more than {most} of anything in Shopping",
        f"Expenses under {limit} need not be kept",
    )
    made = unchanged(
        words, disk, settings, about=("wishes.txt", *all_of(disk, "Shopping", "Expenses"))
    )
    for path, row in rows(disk, "Shopping").items():
        if int(row["Count"]) > most:
            change(made.wanted, path, Count=str(most))
    for path, row in rows(disk, "Expenses").items():
        if int(row["Amount"]) < limit:
            drop(made.wanted, path)
    return made


@job(5, "media")
def keep_albums(seen: Rng, secret: Rng) -> Job:
    disk, settings = start(seen, secret)
    albums = TABLES["Photos"].columns["Album"]
    home, old = some(secret, albums, 2)
    change(disk, secret.choice(paths_of(disk, "Photos")), Album=old, Favourite="yes")
    words = wishing(
        disk, f"favourites among Photos belong in {home}", f"the others in {old} may go"
    )
    made = unchanged(words, disk, settings, about=("wishes.txt", *all_of(disk, "Photos")))
    for path, row in rows(disk, "Photos").items():
        if row["Favourite"] == "yes":
            change(made.wanted, path, Album=home)
        elif row["Album"] == old:
            drop(made.wanted, path)
    return made
