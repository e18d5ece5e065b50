"""A data room: answer a senior's request from files of different kinds, in two deliverables.

Files describe an invented company. The analyst opens them, computes, and enters figures into a
model and, those that the request calls headlines, into a memo as well. A rubric scores the work:
each figure within half a percent has its weight, and each headline has one more criterion, that the
memo agrees with a right figure of the model.

With `company="small"`, `"medium"` or `"large"` a company has 2, 3 or 4 books (`books.py`), such as
sales, contracts, loans and inventories, each in a file as CSV, JSON or sentences, and notes that
correct and define what these say. Figures are composed of sums of their entries (`requests.py`).
What has to be seen: amounts in thousands, an entry listed twice, other currencies, contracts of a
part of a year, an entry restated, a partner that belongs to the group; and, with `traps="rare"`,
which the splits for training never have, amounts in brackets, entries that are plans, entries
booked late, a definition that leaves entries out, fiscal years. A room is drawn so that each of
these changes a figure (`rooms.py`).

A plain company is a demonstration: four files of one kind (a table of income in millions, a balance
sheet in thousands, market data as JSON, and notes in words that correct the tables) and a fixed
list of figures.

After "BankerToolBench: Evaluating AI Agents in End-to-End Investment Banking Workflows", 2026,
whose rubrics weigh criteria and look across deliverables for contradictions, and "DataCross: A
Unified Benchmark and Agent Framework for Cross-Modal Heterogeneous Data Analysis", 2026, whose
questions join sources of different forms in three tiers of difficulty. Companies are invented, and
nothing here is advice.

Checked: every figure against pandas and NumPy on the files as they are written; the discounted
value against the formula of a growing annuity and a textbook's dividend model; each step that is
left out against sums by hand.

Left out: office documents, pictures of tables, market data of real firms, the papers' own tasks,
and a judge for prose.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Rng,
    Text,
    TextAction,
    environment,
    metric,
)
from palestra.kernel.actions import Domain
from palestra.kernel.rng import check_seed
from palestra.scene import Colour, Part, Table

from palestra_tasks.analysis.company import (
    FIGURES,
    FILES,
    LEVELS,
    NAMES,
    YEARS,
    Company,
    Figure,
    draw_company,
    figures,
    write_files,
)
from palestra_tasks.analysis.rooms import NOTES, SIZES, Plan, Room, draw_room, imagine_room
from palestra_tasks.desk import FINISH, Final, Finish, Reply, TaskGame, TaskState, Turns, solo
from palestra_tasks.pictures import file_cards

DELIVERABLES = ("model", "memo")
CLOSE = 0.005  # relative error within which a figure is right
AGREE = 2  # weight of a headline on which memo and model agree
HEADLINES = 2  # figures that the memo states: the last ones of the level
LONGEST = 200  # characters of an expression
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


class Open(TextAction, frozen=True):
    """Open a file."""

    file: str


class Compute(TextAction, frozen=True):
    """Compute an expression of numbers, with + - * / ** and brackets."""

    expression: str


class Enter(TextAction, frozen=True):
    """Enter a figure into a deliverable."""

    deliverable: str
    figure: str
    value: str


def compute(expression: str) -> float | str:
    """The value of an expression, or why there is none."""
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        return f"cannot be computed: {type(error).__name__}; write numbers, + - * / ** and brackets"
    return value if math.isfinite(value) else "is not a finite number"


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        found = _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
        if isinstance(found, complex):
            raise ValueError("complex")
        return found
    raise ValueError("not arithmetic")


def read_number(text: str) -> float | None:
    """The number that a text states, or None; a percent sign may follow."""
    found = re.fullmatch(r"\s*(-?\d{1,12}(?:\.\d{1,9})?)\s*%?\s*", text)
    return float(found[1]) if found else None


@dataclass(slots=True, kw_only=True)
class RoomState(TaskState):
    """The state of an analysis."""

    name: str  # of the company
    seeds: tuple[int, ...]  # of each file
    plan: Plan | None = None  # of a room that was drawn
    opened: tuple[str, ...] = ()
    entries: tuple[tuple[str, str, float], ...] = ()  # deliverable, figure, value


def company_of(state: RoomState) -> Company:
    return draw_company(state.seeds)


@lru_cache(maxsize=256)
def room_of(plan: Plan, seeds: tuple[int, ...]) -> Room:
    return Room(plan, seeds)


@lru_cache(maxsize=256)
def figures_of(plan: Plan) -> tuple[Figure, ...]:
    """The figures that a plan asks for, named by letters; each part adds to the weight."""
    files = {book.name: book.file for book in plan.books}
    return tuple(
        Figure(
            name,
            str(ask),
            len(ask.parts),
            (*dict.fromkeys(files[p.book] for p in ask.parts), NOTES),
        )
        for name, ask in zip(ascii_uppercase, plan.asks, strict=False)
    )


def file_names(state: RoomState) -> tuple[str, ...]:
    """The files of the data room."""
    return state.plan.files if state.plan else FILES


def request_text(name: str, plan: Plan) -> str:
    """What a senior asks for of a company that was drawn."""
    files = "\n".join(f"- {book}" for book in plan.books)
    asked = "\n".join(
        f"{one.name}: {one.meaning} (weight {one.weight})" for one in figures_of(plan)
    )
    contracts = (
        " A contract brings its monthly fee in every month from its first to its last."
        if any(book.book.kind == "contract" for book in plan.books)
        else ""
    )
    return (
        f"Please prepare figures of {name}. Files:\n{files}\n"
        f"- {NOTES}: corrects and defines what the other files say.\n"
        "Figures are consolidated (entries whose partner is a company of the group do not count), "
        "actual and not planned, and in EUR at the rates of the notes. An entry number is one "
        f"entry, however often it is listed.{contracts}\n"
        f"For the model, where square brackets hold amounts of entries:\n{asked}"
    )


@environment(
    "tasks/DataRoom-v0",
    family="text",
    tags=("analysis", "hidden-information"),
    paper=(
        "BankerToolBench: Evaluating AI Agents in End-to-End Investment Banking Workflows (2026); "
        "DataCross: A Unified Benchmark and Agent Framework for Cross-Modal Heterogeneous Data "
        "Analysis (2026)"
    ),
    splits={
        **{f"plain-{level}": {"company": "plain", "level": level} for level in LEVELS},
        **{
            f"{held}{size}": {"company": size, "traps": traps}
            for held, traps in (("", "common"), ("held-out-", "rare"))
            for size in SIZES
        },
    },
)
@dataclass(frozen=True)
class DataRoom(TaskGame[RoomState]):
    """One analyst answers a request from files of different kinds; a rubric weighs the figures.

    There are no numbered actions. The reward is the share of the rubric's weights, 0 to 1.
    """

    level: Annotated[
        Literal["easy", "medium", "hard"],
        Meta(
            description="figures that are asked for of a plain company: 4 of one file, 8 and 12 "
            "of several"
        ),
    ] = "medium"
    company: Annotated[
        Literal["plain", "small", "medium", "large"],
        Meta(
            description="plain: four files of one kind, a demonstration; otherwise 2, 3 or 4 books "
            "and notes, of which 3, 4 or 5 figures are composed"
        ),
    ] = "medium"
    traps: Annotated[
        Literal["all", "common", "rare"],
        Meta(
            description="what an analyst has to see in a drawn company's files, and operations of "
            "its figures; rare: those that are held out"
        ),
    ] = "all"
    turns: Turns = 60

    rules_text = """
        You are an analyst. A senior asks for figures of a company from the files of a data room.
        Open(file='notes.txt') shows one; notes may correct and define what the others say, and
        files may have different units. Compute(expression='(3 + 4) / 2') is a calculator.
        Enter(deliverable='model', figure='ebitda', value='120.5') enters a figure by the name that
        the request gives it, and entering it again replaces it. Finish() ends the work. The
        company is invented; this is no advice.

        A rubric scores the work: a figure within half a percent has its weight. The request names
        headlines, which go into the memo too: for each there is one more criterion, that the
        model's figure is right and the memo agrees with it within half a percent. You are paid the
        share of all weights.
    """
    shown_past = 1
    action_types = (Open, Compute, Enter, Finish)

    def validate(self) -> None:
        if self.company == "plain" and self.traps != "all":
            raise InvalidOption(
                f"traps={self.traps!r} is for a company that is drawn; set company to small, "
                "medium or large, or leave traps out"
            )
        if self.company != "plain" and self.level != "medium":
            raise InvalidOption(
                f"level={self.level!r} is for company='plain'; set it, or leave level out: the "
                "size of a drawn company sets how much is asked for"
            )

    @property
    def asked(self) -> tuple[Figure, ...]:
        """The figures of the level, of a plain company."""
        return FIGURES[: LEVELS[self.level]]

    def wanted(self, state: RoomState) -> tuple[Figure, ...]:
        """The figures that are asked for."""
        return figures_of(state.plan) if state.plan else self.asked

    def headlines(self, state: RoomState) -> tuple[str, ...]:
        """The names of the figures that the memo states."""
        return tuple(one.name for one in self.wanted(state)[-HEADLINES:])

    def truths(self, state: RoomState) -> dict[str, float]:
        """The right figures by name."""
        if not state.plan:
            return figures(company_of(state))
        names = [one.name for one in self.wanted(state)]
        values = room_of(state.plan, state.seeds).values
        return {name: value or 0.0 for name, value in zip(names, values, strict=True)}

    def files(self, state: RoomState) -> dict[str, str]:
        """The text of every file."""
        if state.plan:
            return room_of(state.plan, state.seeds).files
        return write_files(company_of(state))

    def initial_state(self, seed: int | None = None) -> RoomState:
        rng = Rng.seeded(check_seed(seed))
        name = rng.choice(NAMES)
        if self.company == "plain":
            return RoomState(rng=rng, name=name, seeds=tuple(rng.word() for _ in FILES))
        room = draw_room(Rng.seeded(rng.word(), 63), self.company, self.traps)
        return RoomState(rng=rng, name=name, seeds=room.seeds, plan=room.plan)

    def statement(self, state: RoomState, seat: int) -> str:
        headlines = f"Headlines for the memo too: {', '.join(self.headlines(state))}."
        if state.plan:
            return f"{request_text(state.name, state.plan)}\n{headlines}"
        asked = [f"{one.name} ({one.meaning}; weight {one.weight})" for one in self.asked]
        return (
            f"Please prepare figures of {state.name} for {YEARS[-1]}. Files: {', '.join(FILES)}.\n"
            f"For the model: {'; '.join(asked)}.\n{headlines}"
        )

    def notes(self, state: RoomState, seat: int) -> tuple[str, ...]:
        files = self.files(state) if state.opened else {}
        lines = [f"{file}:\n{files[file]}" for file in state.opened]
        entered = [f"{where} {name} = {value:.6g}" for where, name, value in state.entries]
        return (*lines, f"Entered: {'; '.join(entered) or 'nothing'}.")

    def options(self, state: RoomState, seat: int) -> tuple[Option, ...]:
        closed = tuple(file for file in file_names(state) if file not in state.opened)
        names = OneOf(tuple(one.name for one in self.wanted(state)))
        fields: dict[str, Domain] = {
            "deliverable": OneOf(DELIVERABLES),
            "figure": names,
            "value": Text(40, ("0", "12.5")),
        }
        return (
            *((Option(Open, {"file": OneOf(closed)}),) if closed else ()),
            Option(Compute, {"expression": Text(LONGEST, ("1 + 1", "100 * (5 / 4 - 1)"))}),
            Option(Enter, fields),
            FINISH,
        )

    def respond(self, state: RoomState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            state.closed = True
            return Reply("The work is handed in.", kind="finish")
        if isinstance(action, Open):
            state.opened = tuple(f for f in file_names(state) if f in (*state.opened, action.file))
            return Reply(f"Opened {action.file}.", {"file": action.file})
        if isinstance(action, Compute):
            value = compute(action.expression)
            text = value if isinstance(value, str) else f"= {value:.8g}"
            return Reply(f"The expression {text}", kind="compute")
        number = read_number(action.value)
        if number is None:
            return Reply("Not entered: the value is no number such as 120.5.", kind="refusal")
        place = (action.deliverable, action.figure)
        kept = tuple(one for one in state.entries if one[:2] != place)
        state.entries = (*kept, (*place, number))
        return Reply(f"Entered into the {place[0]}: {place[1]} = {number:.6g}.", kind="entry")

    def criteria(self, state: RoomState) -> list[tuple[str, int, bool]]:
        """The rubric: what each criterion is, its weight, and whether it is met."""
        true = self.truths(state)
        entered = {(where, name): value for where, name, value in state.entries}
        rows = []
        for one in self.wanted(state):
            value = entered.get(("model", one.name))
            met = value is not None and math.isclose(value, true[one.name], rel_tol=CLOSE)
            rows.append((one.name, one.weight, met))
        for name in self.headlines(state):
            model, memo = (entered.get((where, name)) for where in DELIVERABLES)
            right = any(met for figure, _, met in rows if figure == name)
            agree = right and math.isclose(model or 0.0, memo or 0.0, rel_tol=CLOSE)
            rows.append((f"memo agrees on {name}", AGREE, agree))
        return rows

    def settle(self, state: RoomState) -> Final:
        rows = self.criteria(state)
        score = sum(w for _, w, met in rows if met) / sum(w for _, w, _ in rows)
        missed = [name for name, _, met in rows if not met]
        reason = f"{len(rows) - len(missed)} of {len(rows)} criteria are met."
        if missed:
            reason += f" Missed: {', '.join(missed)}."
        met = 1 - len(missed) / len(rows)
        return solo(score, reason, met=met, client_ready=not missed)

    def determinize(self, state: RoomState, seat: int, rng: Rng) -> RoomState:
        """Draw the files that were not opened anew."""
        copy = self.copy_for(state, seat)
        if state.plan:
            true = room_of(state.plan, state.seeds)
            copy.seeds = imagine_room(true, state.opened, rng).seeds
            return copy
        pairs = zip(FILES, state.seeds, strict=True)
        copy.seeds = tuple(seed if file in state.opened else rng.word() for file, seed in pairs)
        return copy

    def noted(self, state: RoomState, seat: int | None) -> tuple[str, ...]:
        """The opened files, the last one first; the entries are drawn."""
        return () if seat is None else super().noted(state, seat)[-2::-1]

    def picture(self, state: RoomState, seat: int | None) -> tuple[Part, ...]:
        """The figures of both deliverables; spectators see the right ones and which are right."""
        entered = {(where, name): value for where, name, value in state.entries}
        true = self.truths(state) if seat is None else {}
        headlines, rows, colours = self.headlines(state), [], list[Colour]()
        for one in self.wanted(state):
            value, memo = (entered.get((where, one.name)) for where in DELIVERABLES)
            cells = [one.name, "" if value is None else f"{value:.6g}"]
            asked = "?" if one.name in headlines else ""
            cells.append(asked if memo is None else f"{memo:.6g}")
            if true:
                cells.append(f"{true[one.name]:.6g}")
                right = value is not None and math.isclose(value, true[one.name], rel_tol=CLOSE)
                colours.append("grey" if value is None else "green" if right else "red")
            else:
                colours.append("grey" if value is None else 0)
            rows.append(tuple(cells))
        header = ("figure", *DELIVERABLES, *(("right",) if true else ()))
        files = file_cards(file_names(state), state.opened)
        return files, Table(header, tuple(rows), "", tuple(colours))


@metric("criteria-met", measures=("tasks/DataRoom-v0",), bounds=(0.0, 1.0), better="higher")
def criteria_met(record: EpisodeRecord) -> dict[str, float] | None:
    """The share of criteria that are met, and whether all are: ready for the client."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    if not found:
        return None
    return {"all": float(found[-1]["met"]), "client-ready": float(found[-1]["client_ready"])}
