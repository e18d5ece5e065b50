"""Desktop: windows and menus of twelve applications, as one page.

A file manager, an editor, settings and a calculator; and mail, a calendar, contacts, tasks,
expenses, a clock, a shopping list and photos, which keep rows. A job says what has to be different
when the player stops. Files, rows and settings are then compared with the required ones, character
by character, so a right change with a side effect earns nothing. Jobs come in the five levels of
automation of OS-MAP, from steps named one by one (1) to standing wishes (5), and each has a scope,
the need that it serves. Both are in the opening event; the metric `desktop-report-card` has a cell
for each pair.

The page shows the whole window in front, and the titles of the others. All of the page is one form:
every press of a button sends what has been typed. For agents that look ahead, the texts that the
screen has not shown are redrawn, and with them what they ask for.

X. Chen et al., "OS-MAP: How Far Can Computer-Using Agents Go in Breadth and Depth?", 2025, which
has virtual machines and no tasks of level 5; the jobs and the scopes are our own. Checked: a script
solves every job, and the same script plus one side effect solves none.

Left out: 416 tasks in 15 applications (here 64 kinds of jobs in 12, drawn anew by every seed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from palestra import (
    Event,
    InvalidOption,
    Meta,
    Rng,
    Step,
    TextAction,
    environment,
)

from palestra_web.desktop import row_jobs  # noqa: F401  adds its jobs to JOBS
from palestra_web.desktop.jobs import (
    JOBS,
    LEVELS,
    SCOPES,
    Job,
    make,
    notes,
    redraw,
    with_texts,
)
from palestra_web.desktop.machine import (
    APPS,
    CHOICES,
    SWITCHES,
    Dialog,
    Machine,
    Window,
    folders,
    inside,
    name_of,
)
from palestra_web.desktop.tables import TABLES, Disk, app_of, label, paths_of, read_row
from palestra_web.pages import (
    Element,
    Page,
    button,
    checkbox,
    combobox,
    form,
    group,
    heading,
    image,
    listing,
    paragraph,
    radio,
    textbox,
)
from palestra_web.website import Landing, Limit, NotFound, Website, WebState, with_reveal


@dataclass(slots=True)
class DesktopSession:
    """The site's data."""

    job: Job
    seed: int  # of what can be seen of the job from the start
    machine: Machine  # as it is now


@environment(
    "web/Desktop-v0",
    family="web",
    tags=("web", "gui", "hidden-information"),
    paper="Chen et al. (2025), OS-MAP: How Far Can Computer-Using Agents Go in Breadth and Depth?",
    splits={
        "L1": {"level": 1},
        "L2": {"level": 2},
        "L3": {"level": 3},
        "L4": {"level": 4},
        "L5": {"level": 5},
    }
    | {scope: {"scope": scope} for scope in SCOPES},
)
@dataclass(frozen=True)
class Desktop(Website):
    """Desktop: one player does a job with files, mail, a calendar and nine other applications.

    Numbered actions and observations are those of `Website`. Stop pays 1 if files, rows and
    settings are exactly as the job wants them.
    """

    level: Annotated[
        int, Meta(ge=0, le=5, description="level of automation of the job, 1 to 5; 0 to draw one")
    ] = 0
    scope: Annotated[
        Literal[
            "",
            "system",
            "documents",
            "communication",
            "planning",
            "household",
            "media",
            "several",
        ],
        Meta(description="need that the job serves; empty to draw from all"),
    ] = ""
    job: Annotated[str, Meta(description="name of a kind of job; empty to draw one")] = ""
    limit: Limit = 120

    rules_text = """
        You sit at a small desktop. Do the job, change nothing else, and stop when it is done:
        what the files, the settings and the entries of all applications are then is what counts.
    """
    reward_terms = ("job",)

    def validate(self) -> None:
        if self.job and self.job not in JOBS:
            raise InvalidOption(f"job must be one of {', '.join(JOBS)}, not {self.job!r}")
        if self.job and self.level not in (0, JOBS[self.job].level):
            raise InvalidOption(f"{self.job} is of level {JOBS[self.job].level}, not {self.level}")
        if not self.names:
            raise InvalidOption(
                f"there is no job with job={self.job!r}, level={self.level} and "
                f"scope={self.scope!r}; leave one of them out"
            )

    @property
    def names(self) -> list[str]:
        """The kinds of jobs that may be drawn."""
        return [
            name
            for name, kind in JOBS.items()
            if self.level in (0, kind.level)
            and self.scope in ("", kind.scope)
            and self.job in ("", name)
        ]

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def begin(self, rng: Rng) -> DesktopSession:
        name = self.job or rng.choice(self.names)
        seed = rng.word()
        job = make(name, Rng(seed), Rng(rng.word()))
        return DesktopSession(
            job, seed, Machine(dict(job.disk), dict(job.settings), backup_at=job.backup_at)
        )

    def opening(self, state: WebState) -> Sequence[Event]:
        job = state.data.job
        text = f"The job is of level {job.level}, {LEVELS[job.level]}."
        return [Event("job", text, {"job": job.name, "level": job.level, "scope": job.scope})]

    def known(self, data: DesktopSession, seat: int) -> Any:
        """The machine, without the texts read and the action count where it no longer matters."""
        machine = data.machine
        waits = max(0, machine.backup_at - machine.presses)
        return replace(machine, read=[], presses=0, backup_at=waits)

    def task(self, data: DesktopSession, seat: int) -> str:
        return data.job.words

    def phrases(self, data: DesktopSession, seat: int) -> tuple[str, ...]:
        return data.job.typed

    def solved(self, data: DesktopSession, seat: int) -> bool:
        return data.job.solved(data.machine.disk, data.machine.settings)

    def stop(self, data: DesktopSession, seat: int, answer: str) -> Mapping[str, float]:
        return {"job": 1.0} if self.solved(data, seat) else {}

    def open(
        self, data: DesktopSession, seat: int, path: Sequence[str], query: Mapping[str, str]
    ) -> Page:
        if list(path) != [""]:
            raise NotFound
        return Page("/", "Desktop", (form("/do", *screen(data.machine), changes=True),))

    def send(
        self, data: DesktopSession, seat: int, path: Sequence[str], fields: Mapping[str, str]
    ) -> Landing:
        if list(path) != ["do"]:
            raise NotFound
        data.machine.press(fields.get("do", ""), fields)
        return Landing("/")

    def step(self, state: WebState, actions: Mapping[int, TextAction]) -> Step:
        ((seat, _),) = actions.items()
        before = len(state.data.machine.read)
        step = super().step(state, actions)
        if len(state.data.machine.read) == before:
            return step
        return with_reveal(step, seat, f"{self.players[seat]} has read something new.")

    def determinize(self, state: WebState, seat: int, rng: Rng) -> WebState:
        """Redraw the texts of files that were never opened, and what they ask for."""
        other = self.clone(state)
        data: DesktopSession = other.data
        data.job, fresh = redraw(data.job, data.seed, data.machine.read, rng)
        data.machine.disk = with_texts(data.machine.disk, fresh)
        return other


def screen(machine: Machine) -> tuple[Element, ...]:
    """The elements on the screen: a dialogue box alone, or the window in front and the bars."""
    said = (paragraph(machine.said),) if machine.said else ()
    if machine.dialog is not None:
        return (*said, question(machine.dialog, machine.disk))
    front = machine.front
    empty = heading("Desktop"), image(f"{machine.settings['Wallpaper']} wallpaper")
    shown = empty if front is None else (window(machine, front),)
    behind = machine.windows[:-1] if front is not None else machine.windows
    titles = [button(w.title, "do", f"focus:{n}") for n, w in enumerate(behind)]
    apps = group("Applications", *(button(app, "do", f"start:{app}") for app in APPS))
    return (*said, *shown, *((group("Windows", *titles),) if titles else ()), apps)


def question(dialog: Dialog, disk: Disk) -> Element:
    """A dialogue box."""
    fields: list[Element] = []
    title = f"{dialog.kind} {dialog.path}".strip()
    homes = ("Home", *folders(disk)[1:])
    if dialog.kind == "Backup":
        title = "A backup is due. Make it now?"
    elif dialog.path.startswith("@"):
        return row_question(dialog, disk)
    elif dialog.kind == "Open":
        fields.append(combobox("File", "file", notes(disk) or ["none"]))
    elif dialog.kind == "Move":
        fields.append(combobox("Folder", "folder", homes))
    elif dialog.kind == "Save as":
        fields += [combobox("Folder", "folder", homes), textbox("Name", "name")]
    elif dialog.kind == "Rename":
        fields.append(textbox("Name", "name", name_of(dialog.path)))
    elif dialog.kind == "New folder":
        fields.append(textbox("Name", "name"))
    return group(title, *fields, button("OK", "do", "ok"), button("Cancel", "do", "cancel"))


def row_question(dialog: Dialog, disk: Disk) -> Element:
    """The form of a row, or the question whether to delete it."""
    table, app = TABLES[app_of(dialog.path)], app_of(dialog.path)
    row = read_row(disk, dialog.path) if dialog.path in disk else {}
    fields: list[Element] = []
    if dialog.kind != "Delete":
        for name in table.changed if row else table.asked:
            choices, now = table.columns[name], row.get(name, "")
            field = combobox(name, name, choices, now) if choices else textbox(name, name, now)
            fields.append(field)
    title = f"{dialog.kind} {label(app, row) if row else app}"
    return group(title, *fields, button("OK", "do", "ok"), button("Cancel", "do", "cancel"))


def window(machine: Machine, front: Window) -> Element:
    """The window in front."""
    inner = {"Files": files, "Editor": editor, "Settings": settings, "Calculator": calculator}
    bar = button("Minimise", "do", "minimise"), button("Close", "do", "close")
    return group(front.title, *inner.get(front.app, rows)(machine, front), *bar)


def rows(machine: Machine, front: Window) -> list[Element]:
    """The rows of an application, and the one that is open."""
    table, paths = TABLES[front.app], paths_of(machine.disk, front.app)
    items = [
        radio(label(front.app, read_row(machine.disk, path)), "item", name_of(path))
        for path in paths
    ]
    listed = [listing(*items)] if items else [paragraph("There is nothing here.")]
    verbs = [*(["Open"] if table.inner else []), "Edit", "Delete"] if items else []
    opened = machine.opened(front)
    read = [paragraph(opened[table.inner])] if opened is not None else []
    return [*listed, *[button(verb, "do", verb.lower()) for verb in ("New", *verbs)], *read]


def files(machine: Machine, front: Window) -> list[Element]:
    items = [
        radio(f"{name_of(path)}{'/' * (machine.disk[path] is None)}", "item", name_of(path))
        for path in inside(machine.disk, front.place)
    ]
    verbs = ("Open", "Rename", "Move", "Delete") if items else ()
    tools = [button(verb, "do", verb.lower()) for verb in verbs]
    up = [button("Up", "do", "up")] if front.place else []
    listed = [listing(*items)] if items else [paragraph("This folder is empty.")]
    return [*listed, *tools, *up, button("New folder", "do", "new")]


def editor(machine: Machine, front: Window) -> list[Element]:
    text = textbox("Text", "text", front.text, lines=6)
    if not machine.menu:
        return [text, button("File", "do", "menu")]
    verbs = {"Save": "save", "Save as": "save-as", "Open": "open"}
    menu = [button(name, "do", verb) for name, verb in verbs.items()]
    return [text, button("File", "do", "menu"), group("File menu", *menu)]


def settings(machine: Machine, front: Window) -> list[Element]:
    now = machine.settings
    switches = [checkbox(name, name, chosen=now[name] == "on") for name in SWITCHES]
    choices = [combobox(name, name, values, now[name]) for name, values in CHOICES.items()]
    return [*switches, *choices, button("Apply", "do", "apply")]


def calculator(machine: Machine, front: Window) -> list[Element]:
    shown = [paragraph(front.text)] if front.text else []
    return [textbox("Sum", "sum"), button("=", "do", "equals"), *shown]
