"""A data room: answer a senior's request from files of different kinds, in two deliverables.

Four files describe an invented company: a table of income in millions, a balance sheet in
thousands, market data as JSON, and notes in words that correct the tables. The analyst opens files,
computes, and enters figures into a model and, those that the request calls headlines, into a memo
as well. A rubric scores the work: each figure within half a percent has its weight, and each
headline has one more criterion, that the memo agrees with a right figure of the model.

After "BankerToolBench: Evaluating AI Agents in End-to-End Investment Banking Workflows", 2026,
whose rubrics weigh criteria and look across deliverables for contradictions, and "DataCross: A
Unified Benchmark and Agent Framework for Cross-Modal Heterogeneous Data Analysis", 2026, whose
questions join sources of different forms in three tiers of difficulty. Companies are invented, and
nothing here is advice.

Checked: every figure against pandas and NumPy on the files as they are written; the discounted
value against the formula of a growing annuity and a textbook's dividend model.

Left out: office documents, pictures of tables, market data of real firms, and a judge for prose.
"""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from palestra import (
    EpisodeRecord,
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
)
from palestra.kernel.actions import Domain
from palestra.kernel.rng import check_seed
from palestra.scene import Bar, Bars, Part

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
from palestra_tasks.desk import FINISH, Final, Finish, Reply, TaskGame, TaskState, Turns, solo

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
    opened: tuple[str, ...] = ()
    entries: tuple[tuple[str, str, float], ...] = ()  # deliverable, figure, value


def company_of(state: RoomState) -> Company:
    return draw_company(state.seeds)


@environment(
    "tasks/DataRoom-v0",
    family="text",
    tags=("analysis", "hidden-information"),
    paper=(
        "BankerToolBench: Evaluating AI Agents in End-to-End Investment Banking Workflows (2026); "
        "DataCross: A Unified Benchmark and Agent Framework for Cross-Modal Heterogeneous Data "
        "Analysis (2026)"
    ),
    splits={name: {"level": name} for name in LEVELS},
)
@dataclass(frozen=True)
class DataRoom(TaskGame[RoomState]):
    """One analyst answers a request from files of different kinds; a rubric weighs the figures.

    There are no numbered actions. The reward is the share of the rubric's weights, 0 to 1.
    """

    level: Annotated[
        Literal["easy", "medium", "hard"],
        Meta(description="figures that are asked for: 4 of one file, 8 and 12 of several"),
    ] = "medium"
    turns: Turns = 60

    rules_text = """
        You are an analyst. A senior asks for figures of a company, whose data room has four files.
        Open(file='income.csv') shows one; the notes may correct the tables, and files may have
        different units. Compute(expression='(3 + 4) / 2') is a calculator.
        Enter(deliverable='model', figure='ebitda', value='120.5') enters a figure, and entering it
        again replaces it. Finish() ends the work. The company is invented; this is no advice.

        A rubric scores the work: a figure within half a percent has its weight. The request names
        headlines, which go into the memo too: for each there is one more criterion, that the
        model's figure is right and the memo agrees with it within half a percent. You are paid the
        share of all weights.
    """
    action_types = (Open, Compute, Enter, Finish)

    @property
    def asked(self) -> tuple[Figure, ...]:
        """The figures of the level."""
        return FIGURES[: LEVELS[self.level]]

    @property
    def headlines(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.asked[-HEADLINES:])

    def initial_state(self, seed: int | None = None) -> RoomState:
        rng = Rng.seeded(check_seed(seed))
        name, seeds = rng.choice(NAMES), tuple(rng.word() for _ in FILES)
        return RoomState(rng=rng, name=name, seeds=seeds)

    def statement(self, state: RoomState, seat: int) -> str:
        asked = [f"{one.name} ({one.meaning}; weight {one.weight})" for one in self.asked]
        return (
            f"Please prepare figures of {state.name} for {YEARS[-1]}. Files: {', '.join(FILES)}.\n"
            f"For the model: {'; '.join(asked)}.\n"
            f"Headlines for the memo too: {', '.join(self.headlines)}."
        )

    def notes(self, state: RoomState, seat: int) -> tuple[str, ...]:
        lines = [f"{file}:\n{write_files(company_of(state))[file]}" for file in state.opened]
        entered = [f"{where} {name} = {value:.6g}" for where, name, value in state.entries]
        return (*lines, f"Entered: {'; '.join(entered) or 'nothing'}.")

    def options(self, state: RoomState, seat: int) -> tuple[Option, ...]:
        closed = tuple(file for file in FILES if file not in state.opened)
        names = OneOf(tuple(one.name for one in self.asked))
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
            state.opened = tuple(f for f in FILES if f in (*state.opened, action.file))
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
        true = figures(company_of(state))
        entered = {(where, name): value for where, name, value in state.entries}
        rows = []
        for one in self.asked:
            value = entered.get(("model", one.name))
            met = value is not None and math.isclose(value, true[one.name], rel_tol=CLOSE)
            rows.append((one.name, one.weight, met))
        for name in self.headlines:
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
        pairs = zip(FILES, state.seeds, strict=True)
        copy.seeds = tuple(seed if file in state.opened else rng.word() for file, seed in pairs)
        return copy

    def picture(self, state: RoomState, seat: int | None) -> tuple[Part, ...]:
        entered = len({name for where, name, _ in state.entries if where == "model"})
        read = Bar("files read", len(state.opened), len(FILES), 0)
        return (Bars((read, Bar("figures entered", entered, len(self.asked), 1))),)


def read_company(position: str) -> Company:
    """The company that the files in a position describe."""
    rows = re.findall(r"^(\d{4}),(\d+),(\d+),(\d+),(\d+)$", position, re.MULTILINE)
    revenue, costs, overheads, wear = (
        tuple(map(int, c)) for c in list(zip(*rows, strict=True))[1:]
    )
    amounts = dict(re.findall(r"^(financial debt|cash),(\d+)$", position, re.MULTILINE))
    market = json.loads(position[position.index("{") : position.index("}") + 1])
    shares, price, risk_free, beta, premium, debt_rate, tax = market.values()
    one_off = re.search(r"a charge of (\d+) million", position)
    leases = re.search(r"Leases of (\d+) thousand", position)
    growth = re.search(r"grow by ([\d.]+) %", position)
    plan = re.findall(r"20\d\d: (\d+)", position)
    return Company(
        revenue,
        costs,
        overheads,
        wear,
        int(amounts["financial debt"]),
        int(amounts["cash"]),
        shares,
        price,
        risk_free,
        beta,
        premium,
        debt_rate,
        tax,
        int(one_off[1]) if one_off else 0,
        int(leases[1]) if leases else 0,
        tuple(map(int, plan)),
        float(growth[1]) if growth else 0.0,
    )


@agent("dataroom-analyst", kind="solver")
class Analyst(ScriptedAgent[DataRoom]):
    """Opens every file, computes every figure and enters the headlines twice."""

    def choose(self, turn: Turn[DataRoom]) -> Any:
        position, game = turn.position, turn.game
        for file in FILES:
            if f"\n{file}:\n" not in position:
                return Open(file)
        found = figures(self.known(position))
        done = position.split("Entered: ", 1)[1]
        for one in game.asked:
            places = DELIVERABLES if one.name in game.headlines else DELIVERABLES[:1]
            for where in places:
                if f"{where} {one.name} =" not in done:
                    return Enter(where, one.name, f"{found[one.name]:.6f}")
        return Finish()

    def known(self, position: str) -> Company:
        return read_company(position)


@agent("dataroom-hasty", kind="scripted")
class Hasty(Analyst):
    """As `dataroom-analyst`, and skips the first two notes."""

    def known(self, position: str) -> Company:
        return read_company(re.sub(r"\n[12]\. .*", "", position))


@metric("criteria-met", measures=("tasks/DataRoom-v0",), bounds=(0.0, 1.0), better="higher")
def criteria_met(record: EpisodeRecord) -> dict[str, float] | None:
    """The share of criteria that are met, and whether all are: ready for the client."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    if not found:
        return None
    return {"all": float(found[-1]["met"]), "client-ready": float(found[-1]["client_ready"])}
