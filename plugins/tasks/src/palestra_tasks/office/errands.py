"""Office errands: write a list as it is asked for, where instructions stand in several places.

Errands are of three kinds. In "workflow" the request has every step. In "hidden" it says what the
list is about, and a style sheet and the list of last week say and show how it is written. In
"edit" a list has to be brought up to date, and keeps its form. Files come in, one file goes out,
and a rubric of nine rules, a point each, scores it. Points count by the share of the rows in the
file that are wanted, so that a list of everything there is earns little.

After "AgentIF-OneDay: A Task-level Instruction-Following Benchmark for General AI Agents in Daily
Scenarios", 2026: explicit workflows, instructions hidden in attachments, and edits of earlier work,
each with a rubric of points. The rules here are checked by programs.

These have 108 forms, if names and numbers do not count, and are a demonstration. In "composed" the
request is an order (`orders.py`): a condition built of comparisons says which rows are wanted, and
a chain of changes, the last of them in a note, says how their amounts change. `changes="rare"` has
kinds of change that the splits for training never have.

Checked: rows, order and sums by pandas from the files as they are written; a fault that is put into
a right list loses the points of the rules that it breaks, and no others.

Left out: office documents, slides and pictures, tools such as a browser, the authors' 104 tasks,
and a model as judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Rng,
    ScriptedAgent,
    Text,
    TextAction,
    Turn,
    agent,
    environment,
    metric,
    quote,
)
from palestra.kernel.rng import check_seed
from palestra.scene import Bar, Bars, Part, Table

from palestra_tasks.desk import FINISH, Final, Finish, Reply, TaskGame, TaskState, Turns, solo
from palestra_tasks.office import orders
from palestra_tasks.office.lists import (
    BANNED,
    CASES,
    CATEGORIES,
    CONTENT,
    ITEMS,
    SORTS,
    Changes,
    Form,
    Row,
    can_happen,
    criteria,
    draw_changes,
    draw_form,
    draw_items,
    draw_rows,
    listed,
    styled,
    updated,
    wanted_share,
    write_list,
    write_table,
)
from palestra_tasks.office.orders import Entry, Order, draw_work, imagine_work, said, table_text
from palestra_tasks.pictures import file_cards, file_page

KINDS = ("workflow", "hidden", "edit")  # of which "mixed" draws
FILES = {
    "workflow": ("table.csv",),
    "hidden": ("table.csv", "style.txt", "last.txt"),
    "edit": ("draft.txt", "changes.txt"),
    "composed": ("table.csv", "note.txt"),
}
LAST = 4  # rows of the list of last week
LONGEST = 3000  # characters of the file that goes out
RULES = 9


class Open(TextAction, frozen=True):
    """Open a file."""

    file: str


class Write(TextAction, frozen=True):
    """Write the file that goes out; writing it again replaces it."""

    text: str


@dataclass(slots=True, kw_only=True)
class ErrandState(TaskState):
    """The state of an errand."""

    kind: str
    category: str  # of the rows that are wanted; in an edit all are
    rows: tuple[Row, ...]  # of the table, or of the draft
    form: Form  # that is asked for
    last: tuple[Row, ...]  # of the list of last week
    changes: Changes  # since the draft was written
    opened: tuple[str, ...] = ()
    text: str = ""
    order: Order | None = None  # that was composed
    table: tuple[Entry, ...] = ()  # for the order


def style_text(form: Form) -> str:
    """What a style sheet says."""
    total = "The line before the last is the sum of the amounts, as in 'Total: 120'."
    return (
        f"Lines are sorted by {form.sort}. {total if form.total else 'There is no total.'} The "
        f"last line is a sentence of exactly {form.words} words. The word '{form.banned}' occurs "
        "nowhere."
    )


def look_text(form: Form) -> str:
    """What a list looks like, in words."""
    order = "the amount first" if form.amount_first else "the item first"
    return (
        f"The first line is the title '{form.title}'. Each row is a line that begins with "
        f"'{form.bullet}' and has {order}, with '{form.separator}' between item and amount; items "
        f"are written in {form.case}."
    )


@environment(
    "tasks/Errands-v0",
    family="text",
    tags=("instructions", "hidden-information"),
    paper=(
        "AgentIF-OneDay: A Task-level Instruction-Following Benchmark for General AI Agents in "
        "Daily Scenarios (2026)"
    ),
    splits={
        **{name: {"kind": name, "rows": 9} for name in ("mixed", *KINDS)},
        **{
            f"{held}{size}": {"kind": "composed", "size": size, "changes": changes, "rows": rows}
            for held, changes in (("", "common"), ("held-out-", "rare"))
            for size, rows in (("small", 9), ("medium", 12), ("large", 15))
        },
    },
)
@dataclass(frozen=True)
class Errands(TaskGame[ErrandState]):
    """One player writes a list from files, under instructions that stand in several places.

    There are no numbered actions. The reward is the share of nine rules that the file meets, times
    the share of the rows in it that are wanted.
    """

    kind: Annotated[
        Literal["mixed", "workflow", "hidden", "edit", "composed"],
        Meta(
            description="where instructions stand: in the request, in attachments (hidden), in "
            "earlier work that is changed (edit), or one of these drawn by the seed (mixed), a "
            "demonstration; composed: conditions and chains of changes in request and note"
        ),
    ] = "composed"
    size: Annotated[
        Literal["small", "medium", "large"],
        Meta(description="of a composed request: 2 comparisons and 2 changes, 3 and 3, or 4 and 4"),
    ] = "medium"
    changes: Annotated[
        Literal["all", "common", "rare"],
        Meta(description="kinds of change of a composed request; rare: three kinds, held out"),
    ] = "all"
    rows: Annotated[int, Meta(ge=6, le=15, description="rows of a table")] = 12
    turns: Turns = 12

    rules_text = """
        You run errands in an office. Read the request, open the files that come with it, as in
        Open(file='table.csv'), and write one file, as in
        Write(text='WEEKLY LIST\\n- soup dinner: 12\\nThat was all.'). Writing again replaces it.
        Finish() hands it in.

        Nine rules are checked, a point each: all rows that are wanted, no others, their amounts,
        the total (a line such as 'Total: 120', or none where none is wanted), the title, the order,
        the exact form of each line, the closing sentence, and a word that must not occur. A row has
        one line, which states its amount and no other number, and there is one total. A file that
        names no row that is wanted has no point. You are paid the share of points times the share
        of the rows in the file that are wanted.
    """
    shown_past = 1
    action_types = (Open, Write, Finish)

    def validate(self) -> None:
        if self.kind != "composed" and (self.size, self.changes) != ("medium", "all"):
            raise InvalidOption(
                f"size={self.size!r} and changes={self.changes!r} are for kind='composed'; set it, "
                "or leave them out"
            )

    def initial_state(self, seed: int | None = None) -> ErrandState:
        rng = Rng.seeded(check_seed(seed))
        kind = rng.choice(KINDS) if self.kind == "mixed" else self.kind
        category = rng.choice(CATEGORIES)
        names, amounts, look, style, other, changes = (rng.word() for _ in range(6))
        order: Order | None = None
        table: tuple[Entry, ...] = ()
        if kind == "composed":
            work = Rng.seeded(rng.word(), 16)
            order, table = draw_work(work, self.size, self.changes, self.rows)
        return ErrandState(
            rng=rng,
            order=order,
            table=table,
            kind=kind,
            category=category,
            rows=draw_rows(names, amounts, self.rows),
            form=draw_form(look, style),
            last=draw_rows(other, other, LAST),
            changes=draw_changes(draw_items(names), changes, self.rows),
        )

    # What is to be written

    def wanted(self, state: ErrandState) -> tuple[Row, ...]:
        """The rows that belong into the file."""
        if state.order:
            return state.order.rows(state.table)
        if state.kind == "edit":
            return updated(state.rows, state.changes)
        return tuple(row for row in state.rows if row.category == state.category)

    def files(self, state: ErrandState) -> dict[str, str]:
        """The files that come with the request."""
        rows, form, changes = state.rows, state.form, state.changes
        if state.order:
            note = f"Thanks for the list! When the rest is done: {said(state.order.noted)}."
            return {"table.csv": table_text(state.table), "note.txt": note}
        if state.kind == "edit":
            news = (
                f"{changes.gone} was cancelled. {changes.risen} costs {changes.now} now. New: "
                f"{changes.fresh.item} for {changes.fresh.amount}."
            )
            return {"draft.txt": write_list(rows, form), "changes.txt": news}
        last = write_list(state.last, form)
        files = {"table.csv": write_table(rows), "style.txt": style_text(form), "last.txt": last}
        return {name: files[name] for name in FILES[state.kind]}

    # What a player reads

    def statement(self, state: ErrandState, seat: int) -> str:
        names, form = ", ".join(FILES[state.kind]), state.form
        about = f"Please write a list of the rows of table.csv whose category is {state.category}."
        if state.order:
            return (
                f"Please write a list of the rows of table.csv where {state.order.condition}. "
                f"In the list, {said(state.order.asked)}. The changes in note.txt come after that. "
                f"A change looks at amounts as they are by then, and the condition at those of the "
                f"table. {look_text(form)} {style_text(form)} Files: {names}."
            )
        if state.kind == "workflow":
            return f"{about} {look_text(form)} {style_text(form)} Files: {names}."
        if state.kind == "hidden":
            like = "Keep to our style sheet, and make it look like the list of last week."
            return f"{about} {like} Files: {names}."
        return (
            "Please bring draft.txt up to date with what changes.txt says, and leave its form as "
            f"it is: lines are still sorted by {form.sort}, the closing sentence has as many words "
            f"as before, and the word '{form.banned}' occurs nowhere. Files: {names}."
        )

    def notes(self, state: ErrandState, seat: int) -> tuple[str, ...]:
        files = self.files(state)
        shown = [f"{name}:\n{files[name]}" for name in state.opened]
        return (*shown, f"Your file:\n{self.quoted_file(state)}")

    def quoted_file(self, state: ErrandState) -> str:
        """What was written so far, as a player reads it."""
        return quote(state.text) if state.text else "(nothing yet)"

    # The rules

    def options(self, state: ErrandState, seat: int) -> tuple[Option, ...]:
        closed = tuple(name for name in FILES[state.kind] if name not in state.opened)
        samples = ("WEEKLY LIST\n- soup dinner: 12\nThat was all.", "Nothing.")
        return (
            *((Option(Open, {"file": OneOf(closed)}),) if closed else ()),
            Option(Write, {"text": Text(LONGEST, samples)}),
            FINISH,
        )

    def respond(self, state: ErrandState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            state.closed = True
            return Reply("The file is handed in.", kind="finish")
        if isinstance(action, Open):
            state.opened = tuple(n for n in FILES[state.kind] if n in (*state.opened, action.file))
            return Reply(f"Opened {action.file}.", {"file": action.file})
        state.text = action.text
        lines = len(action.text.splitlines())
        return Reply(f"Your file has {lines} line{'s' * (lines != 1)}.", kind="file")

    def settle(self, state: ErrandState) -> Final:
        wanted = self.wanted(state)
        met = criteria(state.text, wanted, state.form)
        share = wanted_share(state.text, wanted)
        missed = [name for name, rule in met.items() if not rule]
        reason = f"{RULES - len(missed)} of {RULES} rules are met."
        if missed:
            reason += f" Missed: {', '.join(missed)}."
        if 0 < share < 1:
            reason += f" Of the rows that the file names {share:.0%} are wanted."
        return solo((1 - len(missed) / RULES) * share, reason, rules=met)

    def determinize(self, state: ErrandState, seat: int, rng: Rng) -> ErrandState:
        """Draw anew what the request and the opened files do not say."""
        drawn, copy = self.initial_state(rng.word()), self.copy_for(state, seat)
        opened = {name.removesuffix(".txt") for name in state.opened}
        if state.order:
            note, rows = "note" in opened, "table.csv" in opened
            order, table = imagine_work(state.order, state.table, rng, note=note, rows=rows)
            return replace(
                copy,
                order=order,
                table=table,
                rows=drawn.rows,
                last=drawn.last,
                category=drawn.category,
                changes=drawn.changes,
            )
        if state.kind == "edit":
            copy.category = drawn.category  # which no edit is about
        if "changes" in opened:
            fresh = replace(state.changes.fresh, category=drawn.changes.fresh.category)
            copy.changes = replace(state.changes, fresh=fresh)
        if "draft" in opened:
            copy.rows = listed(state.rows, drawn.rows, rng)
        elif "table.csv" not in opened:
            copy.rows = self._rows(copy.changes if "changes" in opened else None, rng)
        if "changes" not in opened:
            items = [row.item for row in copy.rows]
            items += sorted(set(ITEMS) - set(items))
            copy.changes = draw_changes(tuple(items), rng.word(), self.rows)
        copy.last = listed(state.last, drawn.last, rng) if "last" in opened else drawn.last
        if state.kind != "workflow":
            copy.form = self._form(state, copy, drawn.form, rng)
        return copy

    def _rows(self, changes: Changes | None, rng: Rng) -> tuple[Row, ...]:
        """Rows of a table, to which the changes can have happened where those were read."""
        while True:
            rows = draw_rows(rng.word(), rng.word(), self.rows)
            if changes is None or can_happen(changes, rows):
                return rows

    def _form(self, state: ErrandState, copy: ErrandState, drawn: Form, rng: Rng) -> Form:
        """A form in which the request and the opened files of a copy read as they do."""
        look = state.form if {"last.txt", "draft.txt"} & {*state.opened} else drawn
        read = self._read(state, 0)
        return rng.choice([f for f in styled(look) if self._read(replace(copy, form=f), 0) == read])

    def _read(self, state: ErrandState, seat: int) -> tuple[str, ...]:
        """The request and the opened files."""
        files = self.files(state)
        return (self.statement(state, seat), *(files[name] for name in state.opened))

    def noted(self, state: ErrandState, seat: int | None) -> tuple[str, ...]:
        """The opened files; what was written is drawn."""
        return () if seat is None else super().noted(state, seat)[:-1]

    def picture(self, state: ErrandState, seat: int | None) -> tuple[Part, ...]:
        """The files and the list as it is; for spectators beside one that meets all rules."""
        cards = file_cards(FILES[state.kind], state.opened)
        if seat is not None:
            return (cards, file_page("your file", state.text))
        wanted = self.wanted(state)
        met = sum(criteria(state.text, wanted, state.form).values())
        right = write_list(wanted, state.form).splitlines()
        pairs = list(zip_longest(state.text.splitlines(), right, fillvalue=""))
        colours = tuple(
            "green" if line in right else "red" if line else "grey" for line, _ in pairs
        )
        rules = Bars((Bar("rules met", met, RULES, "green"),))
        return cards, rules, Table(("the file", "a right file"), tuple(pairs), "", colours)


# Agents


def read_style(text: str, form: Form) -> Form:
    """A form with what a style sheet, or a request, says."""
    sort = next((sort for sort in SORTS if f"sorted by {sort}" in text), form.sort)
    words = re.search(r"exactly (\d+) words", text)
    banned = next((word for word in BANNED if f"word '{word}'" in text), form.banned)
    return replace(
        form,
        sort=sort,
        words=int(words[1]) if words else form.words,
        banned=banned,
        total="'Total: 120'" in text,
    )


def read_words(text: str, form: Form) -> Form:
    """A form with the looks that a request describes."""
    title, bullet = re.findall(r"title '([^']*)'|begins with '([^']*)'", text)
    case = next(case for case in CASES if f"written in {case}." in text)
    between = re.search(r"with '([^']*)' between", text)
    return replace(
        form,
        title=title[0],
        bullet=bullet[1],
        separator=between[1] if between else form.separator,
        amount_first="the amount first" in text,
        case=case,
    )


def read_list(text: str, form: Form) -> tuple[Form, tuple[Row, ...]]:
    """The form and the rows of a list that somebody wrote."""
    lines, rows = text.splitlines(), []
    bullet, separator, first = form.bullet, form.separator, form.amount_first
    written = ""
    for line in lines[1:-1]:
        found = re.fullmatch(
            r"(\W+ )(?:(\d+)( \W |: )([A-Za-z ]+)|([A-Za-z ]+)( \W |: )(\d+))", line
        )
        if found:
            bullet, first = found[1], found[2] is not None
            separator, written = (found[3], found[4]) if first else (found[6], found[5])
            rows.append(Row(written.lower(), "", int(found[2] if first else found[7])))
    case = CASES[0] if written.isupper() else CASES[1] if written.islower() else CASES[2]
    read = Form(
        lines[0], bullet, separator, first, case, form.sort,
        any(line.startswith("Total: ") for line in lines), len(lines[-1].split()), form.banned,
    )  # fmt: skip
    return read, tuple(rows)


def file_in(position: str, name: str) -> str:
    """What an opened file says."""
    rest = position.split(f"\n{name}:\n", 1)[1]
    return re.split(r"\n(?:\w+\.(?:csv|txt):|Your file:)\n", rest, maxsplit=1)[0]


PLAIN = Form("List", "- ", ": ", False, CASES[2], SORTS[0], True, 5, "")


@agent("errands-careful", kind="solver")
class Careful(ScriptedAgent[Errands]):
    """Opens every file, and follows what the request, the files and earlier lists say and show."""

    def choose(self, turn: Turn[Errands]) -> Any:
        position = turn.position
        kind = next(kind for kind in FILES if f"Files: {', '.join(FILES[kind])}." in position)
        for name in FILES[kind]:
            if f"\n{name}:\n" not in position:
                return Open(name)
        text = write_list(*self.work(kind, position))
        return Finish() if f"Your file:\n{quote(text)}" in position else Write(text)

    def work(self, kind: str, position: str) -> tuple[tuple[Row, ...], Form]:
        """The rows and the form of the list that is wanted."""
        request = position.split("Files: ", 1)[0]
        if kind == "composed":
            return self.compose(position, request)
        if kind == "edit":
            return self.edit(position, request)
        wanted = re.search(r"category is (\w+)", request)
        table = [line.split(",") for line in file_in(position, "table.csv").splitlines()[1:]]
        rows = tuple(Row(item, category, int(amount)) for item, category, amount in table)
        rows = tuple(row for row in rows if wanted and row.category == wanted[1])
        return rows, self.form(kind, position, request)

    def compose(self, position: str, request: str) -> tuple[tuple[Row, ...], Form]:
        """The rows and the form of a list by a composed request and its note."""
        table = [line.split(",") for line in file_in(position, "table.csv").splitlines()[1:]]
        entries = tuple(Entry(i, c, int(amount), d, p) for i, c, amount, d, p in table)
        condition = re.findall(r"table\.csv where (.*?)\. In the list, ", request)[0]
        asked = re.findall(r"In the list, (.*?)\. The changes", request)[0]
        noted = re.findall(r"rest is done: (.*)\.", file_in(position, "note.txt"))[0]
        rows = orders.read_order(condition, self.changes(asked, noted)).rows(entries)
        return rows, self.form("workflow", position, request)

    def changes(self, asked: str, noted: str) -> list[str]:
        """The changes that are made, in their order."""
        return [*asked.split("; then "), *noted.split("; then ")]

    def form(self, kind: str, position: str, request: str) -> Form:
        """The form of a new list."""
        if kind == "workflow":
            return read_style(request, read_words(request, PLAIN))
        look, _ = read_list(file_in(position, "last.txt"), PLAIN)
        return read_style(file_in(position, "style.txt"), look)

    def edit(self, position: str, request: str) -> tuple[tuple[Row, ...], Form]:
        """The rows and the form of a list that is brought up to date."""
        form, rows = read_list(file_in(position, "draft.txt"), PLAIN)
        total = form.total
        news = file_in(position, "changes.txt")
        gone, risen, now, fresh, amount = re.findall(
            r"(.+) was cancelled\. (.+) costs (\d+) now\. New: (.+) for (\d+)\.", news
        )[0]
        changes = Changes(gone, risen, int(now), Row(fresh, "", int(amount)))
        return updated(rows, changes), replace(read_style(request, form), total=total)


@agent("errands-hasty", kind="scripted")
class Hasty(Careful):
    """As `errands-careful`, and writes every new list in the same plain form.

    Of a composed request it makes the changes of the request alone, in the form that is asked for.
    """

    def changes(self, asked: str, noted: str) -> list[str]:
        return asked.split("; then ")

    def form(self, kind: str, position: str, request: str) -> Form:
        composed = "The changes in note.txt" in request
        return super().form(kind, position, request) if composed else PLAIN

    def edit(self, position: str, request: str) -> tuple[tuple[Row, ...], Form]:
        rows, _ = super().edit(position, request)
        return rows, PLAIN


@metric("rules-met", measures=("tasks/Errands-v0",), bounds=(0.0, 1.0), better="higher")
def rules_met(record: EpisodeRecord) -> dict[str, float] | None:
    """The share of rules that are met: about the content, about the form; and whether all are."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    if not found:
        return None
    met = [float(rule) for rule in found[-1]["rules"].values()]
    return {
        "content": sum(met[:CONTENT]) / CONTENT,
        "form": sum(met[CONTENT:]) / (RULES - CONTENT),
        "all": float(all(met)),
    }
