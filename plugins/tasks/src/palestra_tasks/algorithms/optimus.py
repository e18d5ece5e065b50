"""OptiMUS: turn a worded problem into a linear or mixed-integer model, solve it, and repair it.

The player reads a story and its data and writes Python that declares variables, constraints and an
objective. The program runs in the sandbox, and HiGHS solves the model that it declares. The answer
says what is wrong (an error and its line, an infeasible or unbounded model) or the optimum. When
the player finishes, the model is right if its optimum equals the true one.

After AhmadiTeshnizi, Gao and Udell, "OptiMUS: Optimization Modeling Using MIP Solvers and large
language models", 2023, where a whole program is written, tested and repaired and problems are
augmented by telling them in other words (`form="whole"`, `telling`); and "OptiMUS: Scalable
Optimization Modeling with (MI)LP Solvers and Large Language Models", 2024, where descriptions are
long and the model is kept as a table of clauses that are edited one by one (`form="clauses"`,
`distractors`). As there, accuracy is whether the optimum is right. The stories are ours.

Eight stories are a demonstration. With `story="composed"` a problem is composed: of a table and of
conditions that only sentences tell, of 12 common and 6 rare kinds; see `plans.py`. With `data`, a
folder of the authors' own problems (`brought.py`), those are told.

Checked: each optimum against another library's solver, composed ones against lists of all choices;
see the tests.

Left out: the authors' data sets themselves, which the user brings; the team of agents that share
the work, which is up to the player.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Annotated, Any, Literal

import msgspec
from palestra import (
    FilePath,
    Integer,
    InvalidOption,
    Meta,
    Option,
    Rng,
    Text,
    TextAction,
    environment,
)
from palestra.kernel.actions import Domain
from palestra.kernel.rng import check_seed
from palestra.sandbox import Limits
from palestra.scene import Chart, Grid, Part, Piece, Series, Table

from palestra_tasks.algorithms.brought import read_problems
from palestra_tasks.algorithms.plans import draw_plan, model_of, sentences
from palestra_tasks.algorithms.stories import STORIES, Data, Story
from palestra_tasks.combinatorial.linear import Linear, Solution
from palestra_tasks.desk import (
    FINISH,
    Final,
    Finish,
    Program,
    Reply,
    TaskGame,
    TaskState,
    Turns,
    solo,
)
from palestra_tasks.running import LONGEST_PROGRAM, require_sandbox, run

LIMITS = Limits(lines=300_000, cpu=10, seconds=30.0)
MOST = 400  # variables, and constraints, of a model; the stories' own have up to 224
MOST_TERMS = 2000  # coefficients of a model; the stories' own have up to 474
NODES, SECONDS = 2000, 10.0  # of the solver
WIDEST, HIGHEST = 30, 11  # columns, and rows of constraints, of a model that is drawn
TOLERANCE = 1e-4  # relative, between optima
STORY_NAMES = Literal[
    "blending", "cutting", "depots", "diet", "inventory", "production", "staff", "transport"
]
CLAUSES = ("variables", "constraints", "objective")  # of a composed problem
SAMPLES = (  # of what clauses look like, and no model of any story: a refusal shows one
    "variable('x0', 0, 9)\n",
    "constraint({'x0': 2}, '<=', 7)\n",
    "objective('max', {'x0': 1})\n",
)
DISTRACTORS = (
    "The board has met twice this year and was pleased with the minutes.",
    "Last year's figures were compiled by another office and are of no use here.",
    "The building was painted in spring, which cost more than anybody had thought.",
    "A rival is said to do the same with other machines; nothing is known of its prices.",
    "Two of the people involved have asked for a window seat.",
    "An earlier report ran to four hundred pages and recommended to wait.",
    "The name of the project has been changed three times since it began.",
    "It rains in the region on about a hundred days of the year.",
    "A student has written a thesis about the entrance hall.",
    "The canteen is closed on the second Friday of the month.",
)
PRELUDE = """
MODEL = {'variables': {}, 'constraints': [], 'objective': None}
def variable(name, low=0, high=None, whole=False):
    MODEL['variables'][name] = [low, high, whole]
def constraint(terms, relation, bound):
    MODEL['constraints'].append([dict(terms), relation, bound])
def objective(sense, terms):
    MODEL['objective'] = [sense, dict(terms)]
def declared():
    return MODEL
"""
_LINE = re.compile(r"line (\d+)")


class Clause(TextAction, frozen=True):
    """Write the code of one clause of the model, instead of what it had."""

    number: int
    code: str


class Solve(TextAction, frozen=True):
    """Run all clauses and solve the model."""


Number = int | float


class DeclaredModel(msgspec.Struct, forbid_unknown_fields=True):
    """A model as a program declares it."""

    variables: dict[str, tuple[Number | None, Number | None, bool]]
    constraints: list[tuple[dict[str, Number], Literal["<=", ">=", "=="], Number]]
    objective: tuple[Literal["min", "max"], dict[str, Number]]


@dataclass(frozen=True, slots=True)
class Attempt:
    """What became of a model: the solver's answer, or an error."""

    solved: Solution | None = None
    error: str = ""

    def __str__(self) -> str:
        if self.solved is None:
            return f"Error: {self.error}"
        if self.solved.status == "optimal":
            return f"The model is solved: its optimum is {self.solved.value:.6g}."
        if self.solved.status == "infeasible":
            return "The model is infeasible: no values of the variables meet all constraints."
        if self.solved.status == "unbounded":
            return "The model is unbounded: the objective can be improved without end."
        return f"The solver ended without an optimum ({self.solved.status})."


def read_model(value: Any) -> Linear:
    """The model in what a program declared; raises ValueError with the reason for none."""
    if isinstance(value, dict) and value.get("objective") is None:
        raise ValueError("objective('min' or 'max', {name: coefficient, …}) was never called")
    try:
        declared = msgspec.convert(value, DeclaredModel)
    except msgspec.ValidationError as error:
        raise ValueError(f"the model cannot be read: {error}") from None
    if not declared.variables or max(len(declared.variables), len(declared.constraints)) > MOST:
        raise ValueError(f"a model has 1 to {MOST} variables and at most {MOST} constraints")
    if sum(len(terms) for terms, _, _ in declared.constraints) > MOST_TERMS:
        raise ValueError(f"the constraints of a model have at most {MOST_TERMS} coefficients")
    sense, costs = declared.objective
    model, numbers = Linear(sense), dict[str, int]()
    for name, (low, high, whole) in declared.variables.items():
        bounds = (-math.inf if low is None else low, math.inf if high is None else high)
        if bounds[0] > bounds[1]:
            raise ValueError(f"variable {name!r} has the bounds {low} and {high}")
        numbers[name] = model.variable(float(costs.get(name, 0)), *bounds, whole=whole)
    named = [costs, *(terms for terms, _, _ in declared.constraints)]
    for name in (name for terms in named for name in terms):
        if name not in numbers:
            raise ValueError(f"{name!r} is used and was never declared with variable()")
    for terms, relation, bound in declared.constraints:
        row = {numbers[name]: float(by) for name, by in terms.items()}
        low, high = {"<=": (-math.inf, bound), ">=": (bound, math.inf), "==": (bound, bound)}[
            relation
        ]
        model.row(row, low, high)
    return model


@lru_cache(maxsize=2048)
def attempt(data: str, clauses: tuple[str, ...]) -> Attempt:
    """Run a program made of clauses, and solve what it declares."""
    model = declared_model(data, clauses)
    if isinstance(model, str):
        return Attempt(error=model)
    try:
        return Attempt(model.solve(nodes=NODES, seconds=SECONDS))
    except (ValueError, OverflowError) as error:
        return Attempt(error=str(error))


@lru_cache(maxsize=2048)
def declared_model(data: str, clauses: tuple[str, ...]) -> Linear | str:
    """The model that a program made of clauses declares, or why there is none."""
    head = f"{PRELUDE}data = {json.loads(data)!r}\n"
    ran = run(head + "\n".join(clauses) + "\n", "declared", limits=LIMITS)
    if ran.error:
        return _LINE.sub(lambda m: _place(int(m[1]), head, clauses), ran.error)
    try:
        return read_model(ran.value)
    except (ValueError, OverflowError) as error:
        return str(error)


def _place(line: int, head: str, clauses: tuple[str, ...]) -> str:
    """A line of the whole program as a line of a clause."""
    line -= head.count("\n")
    if line < 1:
        return "a call of variable(), constraint() or objective()"
    for number, code in enumerate(clauses):
        lines = code.count("\n") + 1
        if line <= lines:
            return f"clause {number}, line {line}" if len(clauses) > 1 else f"line {line}"
        line -= lines
    return "the end"


@dataclass(frozen=True)
class Problem:
    """A problem in words, its data, and where its optimum comes from.

    clauses: what a model of it is made of.
    """

    words: str
    data: Data
    solve: Callable[[], float]
    clauses: tuple[str, ...] = CLAUSES

    @cached_property
    def optimum(self) -> float:
        """Asked for when an episode ends: HiGHS takes a while."""
        return self.solve()


@lru_cache(maxsize=1024)
def demonstration(name: str, size: int, seed: int, telling: int) -> Problem:
    """One of the eight stories."""
    story = STORIES[name]
    data = story.draw(Rng.seeded(seed, 7), size)
    sizes = {f"len_{k}": len(v) for k, v in data.items() if isinstance(v, list)}
    words = story.tellings[telling].format(**data, **sizes)
    solve = partial(_optimum, story.model, data)
    return Problem(words, data, solve, story.clauses)


@lru_cache(maxsize=1024)
def composed(parts: str, size: int, seed: int, telling: int) -> Problem:
    """A table, and conditions that only sentences tell."""
    plan = draw_plan(Rng.seeded(seed, 7), size, parts)
    return Problem(
        " ".join(sentences(plan, telling)), plan.table, partial(_optimum, model_of, plan)
    )


def _optimum(model: Callable[[Any], Linear], of: Any) -> float:
    return model(of).solve(nodes=20_000).value


@dataclass(slots=True, kw_only=True)
class ModelState(TaskState):
    """The state of a model under construction."""

    story: str
    seed: int
    telling: int
    clauses: tuple[str, ...] = ()
    last: Attempt | None = None
    errors: int = 0


@environment(
    "tasks/OptiMUS-v0",
    family="text",
    tags=("programs", "optimisation", "perfect-information"),
    paper=(
        "AhmadiTeshnizi, Gao and Udell (2023), OptiMUS: Optimization Modeling Using MIP Solvers "
        "and large language models; (2024), OptiMUS: Scalable Optimization Modeling with (MI)LP "
        "Solvers and Large Language Models"
    ),
    splits={
        "stories": {"story": "any"},
        "easy": {"story": "any", "size": 2, "telling": "first"},
        "augmented": {"story": "any", "size": 2, "telling": "other"},
        "long": {"story": "any", "size": 4, "form": "clauses", "distractors": 6},
        **{
            f"{held_out}{name}": {"story": "composed", "size": size, "parts": parts}
            for held_out, parts in (("", "common"), ("held-out-", "rare"))
            for name, size in (("small", 2), ("medium", 3), ("large", 4))
        },
    },
)
@dataclass(frozen=True)
class OptiMUS(TaskGame[ModelState]):
    """One player models a worded optimisation problem in Python; a solver checks the optimum.

    There are no numbered actions. The reward is 1 if the model's optimum is the true one, else 0.
    """

    story: Annotated[
        STORY_NAMES | Literal["any", "composed"],
        Meta(
            description="the problem; any: one of the eight stories, drawn from the seed, a "
            "demonstration; composed: a table and conditions that only sentences tell"
        ),
    ] = "composed"
    size: Annotated[int, Meta(ge=1, le=6, description="how many things a problem has")] = 3
    parts: Annotated[
        Literal["common", "rare"],
        Meta(description="kinds of conditions of a composed problem; rare: two of them are rare"),
    ] = "common"
    form: Annotated[
        Literal["whole", "clauses"],
        Meta(description="whole: each turn is a whole program; clauses: one clause is edited"),
    ] = "whole"
    telling: Annotated[
        Literal["first", "other", "any"], Meta(description="in which words the story is told")
    ] = "any"
    distractors: Annotated[
        int, Meta(ge=0, le=len(DISTRACTORS), description="sentences that do not matter")
    ] = 0
    data: Annotated[
        FilePath,
        Meta(
            description="folder with problems of NLP4LP (description.txt, parameters.json, "
            "solution.json), of which one is drawn; empty for ours"
        ),
    ] = ""
    turns: Turns = 12

    runs_programs = True
    shown_past = 1
    rules_text = """
        You model a worded optimisation problem as a linear or mixed-integer programme.

        You write Python that reads the dictionary `data` and calls variable(name, low, high, whole)
        for each variable (None is no bound; whole=True for whole numbers),
        constraint({name: coefficient, …}, relation, bound) with the relation '<=', '>=' or '==',
        and once objective('min' or 'max', {name: coefficient, …}). The code runs alone, with
        Python's built-in functions, math and itertools. A solver then says whether the model is
        infeasible, unbounded or solved, and with which optimum. Repair the model until you believe
        it, then write Finish(). You are paid 1 if your last model's optimum is the right one.
    """
    perfect_information = True
    action_types = (Program, Clause, Solve, Finish)

    def rules_for(self, seat: int) -> str:
        how = (
            "End your turn with the program in a fenced block that begins with ```python, or with "
            "Program(code='…')."
            if self.form == "whole"
            else "The model is a table of clauses. Write the code of one with Clause(number=0, "
            "code='…'), as often as you like, and run all of them with Solve()."
        )
        return f"{super().rules_for(seat)}\n{how}"

    def validate(self) -> None:
        require_sandbox()
        if self.data:
            if (self.story, self.size, self.telling) != ("composed", 3, "any"):
                raise InvalidOption(
                    "data has problems of its own; leave out story, size and telling, or data"
                )
            read_problems(self.data)
        if self.parts != "common" and self.story != "composed":
            raise InvalidOption(
                f"parts={self.parts!r} is for composed problems; set story to composed"
            )

    def initial_state(self, seed: int | None = None) -> ModelState:
        rng = Rng.seeded(check_seed(seed))
        drawn = rng.choice(sorted(read_problems(self.data) if self.data else STORIES))
        name: str = drawn if self.data or self.story == "any" else self.story
        telling = {"first": 0, "other": 1, "any": rng.below(2)}[self.telling]
        state = ModelState(rng=rng, story=name, seed=rng.word(), telling=telling)
        if self.form == "clauses":
            state.clauses = ("",) * len(self.problem(state).clauses)
        return state

    def problem(self, state: ModelState) -> Problem:
        """The problem of a state."""
        if self.data:
            found = read_problems(self.data)[state.story]
            return Problem(found.words, found.data, lambda: found.optimum)
        if self.story == "composed":
            return composed(self.parts, self.size, state.seed, state.telling)
        return demonstration(state.story, self.size, state.seed, state.telling)

    def tell(self, state: ModelState) -> str:
        """The story in words, with sentences that do not matter."""
        lines, rng = re.split(r"(?<=[.?]) ", self.problem(state).words), Rng.seeded(state.seed, 9)
        others = list(DISTRACTORS)
        rng.shuffle(others)
        for sentence in others[: self.distractors]:
            lines.insert(rng.below(len(lines)), sentence)
        return " ".join(lines)

    def statement(self, state: ModelState, seat: int) -> str:
        return f"{self.tell(state)}\ndata = {json.dumps(self.problem(state).data)}"

    def notes(self, state: ModelState, seat: int) -> tuple[str, ...]:
        lines = []
        if self.form == "clauses":
            for number, name in enumerate(self.problem(state).clauses):
                code = state.clauses[number].strip() or "(nothing yet)"
                lines.append(f"Clause {number}, {name}:\n{code}")
        lines.append(str(state.last) if state.last else "Nothing has been solved yet.")
        return tuple(lines)

    def options(self, state: ModelState, seat: int) -> tuple[Option, ...]:
        if self.form == "whole":
            samples = ("".join(SAMPLES), *SAMPLES, "variable(1)\n")
            return (Option(Program, {"code": Text(LONGEST_PROGRAM, samples)}), FINISH)
        fields: dict[str, Domain] = {
            "number": Integer(0, len(state.clauses) - 1),
            "code": Text(LONGEST_PROGRAM, SAMPLES),
        }
        return (Option(Clause, fields), Option(Solve), FINISH)

    def respond(self, state: ModelState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            state.closed = True
            return Reply("The model is handed in.", kind="finish")
        if isinstance(action, Clause):
            at = action.number
            state.clauses = (*state.clauses[:at], action.code, *state.clauses[at + 1 :])
            state.last = None
            return Reply(f"Clause {at} is written.", kind="clause")
        if isinstance(action, Program):
            state.clauses = (action.code,)
        state.last = attempt(json.dumps(self.problem(state).data), state.clauses)
        state.errors += bool(state.last.error)
        status = state.last.solved.status if state.last.solved else "error"
        return Reply(str(state.last), {"status": status}, kind="solver")

    def settle(self, state: ModelState) -> Final:
        true = self.problem(state).optimum
        last = state.last
        if last is None and any(state.clauses):
            last = attempt(json.dumps(self.problem(state).data), state.clauses)
        solved = last.solved if last else None
        value = solved.value if solved and solved.status == "optimal" else math.nan
        right = math.isclose(value, true, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        runs = bool(solved and solved.status == "optimal")
        reason = "The optimum is right." if right else f"Not right: the true optimum is {true:.6g}."
        return solo(float(right), reason, won=right, solved=runs, errors=state.errors)

    def told(self, state: ModelState, seat: int) -> str:
        """The words alone, once there is a model; its numbers are drawn."""
        return self.tell(state) if state.last else self.statement(state, seat)

    def picture(self, state: ModelState, seat: int | None) -> tuple[Part, ...]:
        """The data, or the model that was solved: its coefficients and its variables' values."""
        data, parts = self.problem(state).data, list[Part]()
        model = declared_model(json.dumps(data), state.clauses) if state.last else ""
        if isinstance(model, str):
            parts += data_charts(data)
        else:
            parts.append(coefficients_grid(model))
            values = state.last.solved.point if state.last and state.last.solved else ()
            parts += [values_chart(values)] if values else []
        if self.form == "clauses":
            names = self.problem(state).clauses
            parts.append(
                Table(
                    ("clause", "what", "state"),
                    tuple(
                        (str(n), name, "written" if state.clauses[n] else "-")
                        for n, name in enumerate(names)
                    ),
                    "",
                    tuple("green" if state.clauses[n] else "grey" for n in range(len(names))),
                )
            )
        return tuple(parts)


def data_charts(data: Data) -> tuple[Chart, ...]:
    """A bar for each number of the first lists of numbers in the data."""
    listed = {
        name: values
        for name, values in data.items()
        if isinstance(values, list) and values and all(isinstance(v, int | float) for v in values)
    }
    return tuple(
        Chart((Series("", tuple(enumerate(values[:WIDEST])), "bars", n),), name)
        for n, (name, values) in enumerate(list(listed.items())[:2])
    )


def coefficients_grid(model: Linear) -> Grid:
    """A row for the objective and for each constraint, a column for each variable.

    Coefficients above 0 are orange, those below blue; the objective's are golden. The first rows
    and columns of large models.
    """
    width = min(len(model.costs), WIDEST)
    rows = [_signs({n: cost for n, cost in enumerate(model.costs) if cost}, width, "gold")]
    rows += [_signs(terms, width, "") for terms, _, _ in model.rows[:HIGHEST]]
    return Grid(tuple(rows), (model.sense, *("" for _ in rows[1:])))


def _signs(terms: Mapping[int, float], width: int, colour: str) -> tuple[Piece | None, ...]:
    """A row of coefficients."""
    return tuple(
        Piece(
            "+" if by > 0 else "−",
            colour or ("orange" if by > 0 else "blue"),
            label=f"{by:g}",
        )
        if (by := terms.get(n, 0.0))
        else None
        for n in range(width)
    )


def values_chart(values: Sequence[float]) -> Chart:
    """The values of the variables of a solution."""
    points = tuple((float(n), value) for n, value in enumerate(values[:WIDEST]))
    return Chart((Series("", points, "bars", 0),), "values of the variables", "variable")


def shown(position: str) -> tuple[str, Data]:
    """The words and the data of the problem that a position shows."""
    words, rest = position.split("\ndata = ", 1)
    return words, json.loads(rest.split("\n", 1)[0])


def story_of(position: str) -> Story:
    """The story whose data a position shows."""
    _, data = shown(position)
    (story,) = [s for s in STORIES.values() if s.draw(Rng(1), 2).keys() == data.keys()]
    return story
