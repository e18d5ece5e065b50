"""The desktop: jobs are done by a script, side effects undo them, files behave as real ones do."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra import InvalidOption, Rng, TextAction
from palestra.agents.agent import Turn
from palestra_web.actions import Stop
from palestra_web.chromium import Chromium
from palestra_web.desktop.clerk import DesktopClerk, Hand, Look, work
from palestra_web.desktop.jobs import JOBS, SCOPES, Job, make, redraw
from palestra_web.desktop.machine import Machine, folders, inside, name_of, parent, result_of
from palestra_web.desktop.site import Desktop
from palestra_web.desktop.tables import Disk, add_row, read_row, same
from palestra_web.mirror import Mirror
from palestra_web.reading import read_lines, task_of

DESKTOP = "web/Desktop-v0"
Moves = Generator[TextAction, Look, None]


@pytest.mark.parametrize("name", JOBS)
def test_a_script_does_every_job(name: str) -> None:
    records = palestra.play(DESKTOP, agents=["desktop-clerk"], episodes=5, seed=2, job=name)
    assert [record.returns for record in records] == [(1.0,)] * 5
    assert all(record.outcome and record.outcome.results == ("win",) for record in records)


# The same script with something more


def folder_too_many(hand: Hand) -> Moves:
    yield from hand.go_to("Pictures")
    yield from hand.press("New folder")
    yield from hand.type("Name", "mine")
    yield from hand.press("OK")


def note_too_many(hand: Hand) -> Moves:
    yield from hand.press("Editor")
    yield from hand.save("I was here", "Pictures", "mine.txt")


def switch_flipped(hand: Hand) -> Moves:
    yield from hand.press("Settings")
    box = next(line for line in hand.look if line.role == "checkbox")
    yield from hand.switch(box.name, "off" if box.chosen else "on")


def file_gone(hand: Hand) -> Moves:
    """Deletes a file that nobody spoke of."""
    paths = yield from hand.all_files()
    yield from hand.delete(paths[-1])


def text_changed(hand: Hand) -> Moves:
    paths = yield from hand.all_files()
    text = yield from hand.read(paths[0])
    yield from hand.save(f"{text} indeed")


class Careless(DesktopClerk):
    """Does the job, and something else before stopping."""

    def __init__(self, more: Callable[[Hand], Moves]) -> None:
        super().__init__()
        self.more = more

    def begin(self, turn: Turn) -> Moves:
        return self._all(task_of(turn), Hand(read_lines(turn.position)))

    def _all(self, task: str, hand: Hand) -> Moves:
        yield from work(task, hand)
        yield from self.more(hand)
        yield Stop()


def row_too_many(hand: Hand) -> Moves:
    yield from hand.add("Shopping", Item="honey", Count="1")


def row_changed(hand: Hand) -> Moves:
    row = (yield from hand.rows("Calendar"))[-1]
    yield from hand.change("Calendar", row, Time="17:00" if row["Time"] != "17:00" else "18:00")


def mail_gone(hand: Hand) -> Moves:
    yield from hand.drop("Mail", **(yield from hand.rows("Mail"))[0])


def mail_too_many(hand: Hand) -> Moves:
    yield from hand.add("Mail", To="someone", Subject="Hello", Text="I was here")


SLIPS = [
    *(folder_too_many, note_too_many, switch_flipped, file_gone, text_changed),
    *(row_too_many, row_changed, mail_gone, mail_too_many),
]
PAIRS = [  # every job with three slips, every slip with some twenty jobs
    (name, SLIPS[(place + 3 * again) % len(SLIPS)])
    for place, name in enumerate(JOBS)
    for again in range(3)
]


@pytest.mark.parametrize(("name", "more"), PAIRS)
def test_one_side_effect_undoes_a_job(name: str, more: Callable[[Hand], Moves]) -> None:
    records = palestra.play(
        DESKTOP, agents=[Careless(more)], episodes=2, seed=4, job=name, limit=400
    )
    assert [record.returns for record in records] == [(0.0,)] * 2
    assert all(record.outcome and record.outcome.results == ("loss",) for record in records)


@pytest.mark.parametrize("name", JOBS)
def test_no_job_is_done_before_it_is_begun(name: str) -> None:
    game = Desktop(job=name)
    assert not any(game.solved(game.initial_state(seed).data, 0) for seed in range(40))


# Rows


def test_rows_count_by_what_they_say_and_not_by_their_numbers() -> None:
    """Two new rows in either order are the same; a mail with another text is not."""
    one: Disk = {}
    other: Disk = {}
    rows = [{"Item": "milk", "Count": "2"}, {"Item": "rice", "Count": "1"}]
    for row in rows:
        add_row(one, "Shopping", row)
    for row in reversed(rows):
        add_row(other, "Shopping", row)
    assert one != other
    assert same(one, other)
    mail = {"Box": "Sent", "From": "me", "To": "you", "Subject": "Hi", "Text": "a"}
    add_row(one, "Mail", mail)
    add_row(other, "Mail", mail | {"Text": "b"})
    assert not same(one, other)


def test_a_mail_is_unread_until_it_is_opened_wherever_it_is_put() -> None:
    machine = Machine({}, {})
    mail = {"Box": "Inbox", "From": "Ada", "To": "me", "Subject": "Hi", "Text": "the secret"}
    path = add_row(machine.disk, "Mail", mail)
    machine.press("start:Mail", {})
    machine.press("edit", {"item": "1"})
    machine.press("ok", {"Box": "Archive", "Text": "forged", "From": "Eve"})
    assert read_row(machine.disk, path) == mail | {"Box": "Archive"}
    assert "the secret" not in machine.read
    machine.press("open", {"item": "1"})
    assert "the secret" in machine.read


def test_a_form_with_an_empty_or_unknown_value_keeps_nothing() -> None:
    machine = Machine({}, {})
    machine.press("start:Calendar", {})
    for title, day in (("", "Friday"), ("   ", "Friday"), ("Choir", "Someday")):
        machine.press("new", {})
        machine.press("ok", {"Title": title, "Day": day, "Time": "09:00"})
        assert machine.disk == {}
        assert "Nothing was kept" in machine.said
    dialogs = []
    for do in ("edit", "delete", "open"):
        machine.press(do, {"item": "7"})
        dialogs.append(machine.dialog)
    assert dialogs == [None, None, None]


@pytest.mark.parametrize("seed", range(4))
def test_what_a_list_has_shown_is_not_redrawn_and_the_rest_is(seed: int) -> None:
    game = Desktop(job="whose-number")
    state = game.initial_state(seed)
    machine = state.data.machine
    machine.press("start:Contacts", {})
    other = game.determinize(state, 0, Rng(seed))
    kept = {path: text for path, text in machine.disk.items() if path.startswith("@Contacts")}
    assert {path: other.data.machine.disk[path] for path in kept} == kept
    assert other.data.job.wanted.keys() == state.data.job.wanted.keys()
    hidden = [path for path in machine.disk if path.startswith(("@Calendar", "@Mail"))]
    assert any(other.data.machine.disk[path] != machine.disk[path] for path in hidden)


def nothing(hand: Hand) -> Moves:
    yield from hand.press("Files", "Minimise", "Calculator", "Close")


def test_opening_and_closing_windows_is_no_side_effect() -> None:
    for name in JOBS:
        agents = [Careless(nothing)]
        (record,) = palestra.play(DESKTOP, agents=agents, seed=9, job=name, limit=400)
        assert record.returns == (1.0,), name


def test_a_backup_that_nobody_asked_for_is_a_side_effect() -> None:
    game = Desktop(job="not-now")
    state = game.initial_state(0)
    machine = state.data.machine
    while machine.dialog is None:
        machine.press("start:Settings", {})
    machine.press("ok", {})
    machine.settings = dict(state.data.job.wanted_settings)
    assert not game.solved(state.data, 0)
    del machine.disk["Backup"]
    assert game.solved(state.data, 0)


def test_stopping_at_once_pays_nothing() -> None:
    for seed in range(20):
        episode = palestra.make(DESKTOP, view="episode", seed=seed)
        episode.act({0: episode.parse(0, "stop()")})
        assert episode.returns[0] == 0
        assert episode.outcome.results == ("loss",)


# Files, against a real file system


def real(disk: Disk, root: Path) -> None:
    for path in folders(disk)[1:]:
        (root / path).mkdir(parents=True, exist_ok=True)
    for path, text in disk.items():
        if text is not None:
            (root / path).write_text(text, "utf-8")


def read_back(root: Path) -> Disk:
    return {
        path.relative_to(root).as_posix(): None if path.is_dir() else path.read_text("utf-8")
        for path in root.rglob("*")
    }


@pytest.mark.parametrize("seed", range(12))
def test_files_behave_as_on_a_real_file_system(seed: int, tmp_path: Path) -> None:
    rng = Rng(seed)
    job = make(rng.choice(tuple(JOBS)), Rng(rng.word()), Rng(rng.word()))
    files = {path: text for path, text in job.disk.items() if not path.startswith("@")}
    machine = Machine(files, dict(job.settings))
    real(machine.disk, tmp_path)
    for turn in range(40):
        path = rng.choice(sorted(machine.disk))
        verb = rng.choice(("rename", "move", "delete" if turn % 4 == 0 else "move", "new"))
        machine.press("start:Files", {})
        machine.windows[-1].place = parent(path)
        machine.press(verb, {"item": name_of(path)})
        folder, name = rng.choice(folders(machine.disk)), f"n{rng.below(6)}"
        machine.press("ok", {"folder": folder or "Home", "name": name})
        if verb == "delete":
            target = tmp_path / path
            shutil.rmtree(target) if target.is_dir() else target.unlink()
        elif verb == "new":
            with contextlib.suppress(FileExistsError):
                (tmp_path / parent(path) / name).mkdir()
        else:
            to = tmp_path / (
                f"{parent(path)}/{name}" if verb == "rename" else f"{folder}/{name_of(path)}"
            ).lstrip("/")
            if not to.exists() and (tmp_path / path) not in to.parents:
                (tmp_path / path).rename(to)
        assert machine.disk == read_back(tmp_path), (verb, path, folder, name, machine.said)
        if not machine.disk:
            return


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", " a", "x" * 41, "a\nb", "<b>"])
def test_bad_names_are_refused(name: str) -> None:
    machine = Machine({"a.txt": "x"}, {})
    machine.press("start:Files", {})
    machine.press("rename", {"item": "a.txt"})
    machine.press("ok", {"name": name})
    assert machine.disk == {"a.txt": "x"}
    assert "is no name for a file" in machine.said


@pytest.mark.parametrize(
    ("text", "result"),
    [("12 + 30", "42"), ("7-9", "-2"), ("-3 * -4", "12"), ("999999 * 999999", "999998000001")],
)
def test_the_calculator_calculates(text: str, result: str) -> None:
    assert result_of(text) == result


@pytest.mark.parametrize("text", ["", "1", "1 / 0", "2 ** 9", "__import__('os')", "1 + 2 + 3"])
def test_the_calculator_takes_nothing_else(text: str) -> None:
    assert result_of(text).startswith("Write two whole numbers")


# Windows


def test_what_is_typed_stays_when_another_window_is_in_front() -> None:
    machine = Machine({}, {})
    machine.press("start:Editor", {})
    machine.press("start:Files", {"text": "half a thought"})
    machine.press("focus:0", {})
    assert machine.front is not None
    assert (machine.front.app, machine.front.text) == ("Editor", "half a thought")


def test_windows_are_minimised_raised_and_closed() -> None:
    machine = Machine({}, {})
    for app in ("Files", "Calculator"):
        machine.press(f"start:{app}", {})
    machine.press("minimise", {})
    assert [window.app for window in machine.windows] == ["Calculator", "Files"]
    machine.press("minimise", {})
    assert machine.front is None
    machine.press("focus:1", {})
    assert machine.front is not None
    assert machine.front.app == "Calculator"
    machine.press("close", {})
    assert [window.app for window in machine.windows] == ["Files"]


def test_too_many_windows_are_refused_and_nonsense_changes_nothing() -> None:
    machine = Machine({"a": None}, {})
    for _ in range(9):
        machine.press("start:Editor", {})
    assert len(machine.windows) == 6
    assert "Too many windows" in machine.said
    for do in ("", "focus:99", "focus:x", "start:Games", "delete", "ok", "apply", "up"):
        machine.press(do, {"item": "../a"})
    assert machine.disk == {"a": None}


def test_an_editor_follows_its_file_and_asks_where_to_save_when_it_is_gone() -> None:
    machine = Machine({"a": None, "a/x.txt": "text"}, {})
    machine.press("start:Files", {})
    machine.press("open", {"item": "a"})
    machine.press("open", {"item": "x.txt"})
    machine.press("start:Files", {"text": "text"})
    machine.press("up", {})
    machine.press("rename", {"item": "a"})
    machine.press("ok", {"name": "b"})
    machine.press("focus:0", {})
    machine.press("save", {"text": "new"})
    assert machine.disk == {"b": None, "b/x.txt": "new"}
    machine.press("start:Files", {"text": "new"})
    machine.press("delete", {"item": "b"})
    machine.press("ok", {})
    assert inside(machine.disk, "") == []
    machine.press("focus:0", {})
    machine.press("save", {"text": "new"})
    machine.press("ok", {"folder": "Home", "name": "y.txt"})
    assert machine.disk == {"y.txt": "new"}


# Levels, and what is hidden


def test_every_level_has_jobs_and_says_so() -> None:
    assert len(JOBS) >= 60
    assert {kind.level for kind in JOBS.values()} == {1, 2, 3, 4, 5}
    assert {kind.scope for kind in JOBS.values()} == set(SCOPES)
    for level in range(1, 6):
        (record,) = palestra.play(DESKTOP, agents=["desktop-clerk"], level=level)
        assert record.options["level"] == level
        assert palestra.measure(record)["desktop-level"] == level


def test_every_scope_has_jobs_and_a_cell_in_the_report_card() -> None:
    for scope in SCOPES:
        (record,) = palestra.play(DESKTOP, agents=["desktop-clerk"], scope=scope, seed=3)
        measured = palestra.measure(record)
        cell = f"desktop-report-card:{scope} {measured['desktop-level']:.0f}"
        assert measured[cell] == 1.0
    with pytest.raises(InvalidOption, match="there is no job with job='', level=4 and scope='sy"):
        Desktop(level=4, scope="system")


def test_options_are_checked() -> None:
    with pytest.raises(InvalidOption, match="level must be an integer from 0 to 5, not 6"):
        Desktop(level=6)
    with pytest.raises(InvalidOption, match="job must be one of flip-a-switch"):
        Desktop(job="tidy")
    with pytest.raises(InvalidOption, match="add-up is of level 4, not 2"):
        Desktop(job="add-up", level=2)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_with_other_texts_can_be_done_as_well(name: str) -> None:
    """Redrawn at the start, then played to the end by the script."""
    game = Desktop(job=name)
    for seed in range(3):
        state = game.determinize(game.initial_state(seed), 0, Rng(seed + 1))
        assert state.data.job.disk == state.data.machine.disk
        assert state.data.job.words == game.initial_state(seed).data.job.words
        hand_and_script: Any = work(state.data.job.words, Hand(lines(game, state)))
        action = next(hand_and_script)
        try:
            while True:
                game.step(state, {0: action})
                action = hand_and_script.send(lines(game, state))
        except StopIteration:
            assert game.solved(state.data, 0)


def lines(game: Desktop, state: Any) -> Look:
    return read_lines(game.describe(state, 0))


def test_what_has_been_read_is_not_redrawn() -> None:
    job: Job = make("follow-orders", Rng(1), Rng(2))
    orders = str(job.disk["Documents/orders.txt"])
    other, _ = redraw(job, 1, [orders], Rng(3))
    assert other.disk["Documents/orders.txt"] == orders
    assert other.wanted.keys() == job.wanted.keys()
    assert other.disk != job.disk
    unread, _ = redraw(job, 1, [], Rng(3))
    assert unread.disk["Documents/orders.txt"] != orders


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.usefixtures("chromium_path")
def test_the_script_does_the_same_in_chromium() -> None:
    with Chromium() as browser, Mirror(browser) as mirror:
        for level in range(1, 6):
            agents = ["desktop-clerk"]
            (record,) = palestra.play(DESKTOP, agents=agents, level=level, seed=5, hooks=[mirror])
            assert record.returns == (1.0,)
