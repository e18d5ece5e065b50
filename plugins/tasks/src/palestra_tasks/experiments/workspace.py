"""A workspace of machine learning: improve a training script by experiments.

The workspace has a description, data and a training script that runs. The player reads files,
writes the script, executes it and reads its output and its error on validation data, goes back to
an earlier version, and hands in. Scripts run in the sandbox. The script that is there at the end is
scored on a hidden test, against the one that was there at first.

With `project="small"`, `"medium"` or `"large"` a grammar composes the project (`projects.py`):
columns of several kinds with troubles that the description tells, a law of 3, 4 or 6 effects told
in words, one of five kinds of target, a measure, and perhaps test rows that differ. Its rows and
the weights of its law are hidden. A script is paid for the share of the way from the starter's
test error to that of the law. With `traits="rare"`, which splits for training never have, effects
and troubles are others.

Plain data is a demonstration: four kinds, each of which one of four scripts fits.

After Huang, Vora, Liang and Leskovec, "MLAgentBench: Evaluating Language Agents on Machine Learning
Experimentation", 2023, in which an experiment succeeds if it improves on the starter by a tenth.
The data is drawn from the seed.

Checked: the starter, least squares and nearest neighbours against scikit-learn on the same rows;
in projects regressions, measures and one-hot codes against it too, laws from the table by pandas,
and medians by SciPy.

Left out: the authors' 13 data sets, deep networks and a GPU, search in papers, and time in place of
executed lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    quote,
)
from palestra.kernel.rng import check_seed
from palestra.paragraphs import paragraphs
from palestra.sandbox import Limits
from palestra.scene import Chart, Part, Series

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
from palestra_tasks.experiments.data import (
    KINDS,
    MEANING,
    Sample,
    draw_data,
    error,
    error_by,
    problem_with,
)
from palestra_tasks.experiments.programs import STARTER
from palestra_tasks.experiments.projects import SIZES, TEST, Plan, draw_plan, draw_project
from palestra_tasks.experiments.scripts import STARTERS, TOOLS
from palestra_tasks.pictures import thinned, tries_chart
from palestra_tasks.running import LONGEST_PROGRAM, require_sandbox, run

DATA, SCRIPT, TOOLBOX = "data.csv", "train.py", "tools.py"
SHOWN = 12  # rows of data that are shown
FARTHEST = 10  # times the largest target, of a prediction in a picture
FEWEST = 4  # test rows by which the law is taken to be better than the first script, at least
SUCCESS = 0.1  # improvement on the starter that counts as a success
LIMITS = Limits(lines=1_000_000, cpu=5, seconds=15.0)
PROJECT_LIMITS = Limits(lines=5_000_000, cpu=10, seconds=30.0)
LONGEST_NOTE = 500  # characters
PROJECT_RULES = """
    You improve a training script for the project that is described. Open(file='data.csv') shows the
    first rows to train with, Open(file='train.py') the script, and Open(file='tools.py') functions
    that the script can call without an import. Execute() runs the script and tells its error on
    validation rows. To replace the script, end your turn with a program in a fenced block that
    begins with ```python, or with Program(code='…'); Undo() goes back to the version before.
    Note(text='…') writes a line into your research log, which you keep reading; it has no effect on
    your pay.

    A script has a function predict(rows, targets, queries), which returns a list with a number for
    every query: a prediction of a number or a count, a class, or, where the log loss is the
    measure, the probability of class 1 (less than 0.000001 counts as that, and as much for class
    0). Rows and queries are lists of cells in the order of the columns: numbers, texts, or None for
    an empty cell. It may import bisect, collections, datetime, functools, heapq, itertools, json,
    math, re and statistics. There are no files and no random numbers, and the number of lines it
    executes is limited.

    Finish() hands in the script that is there. Test rows that you never see decide: you are paid
    (the first script's test error - your script's test error) / (the first script's test error -
    the test error of the law that made the data), not less than 0 and not more than 1; a divisor
    below a tenth of the first script's test error counts as that, and below 0.02 as 0.02 where the
    measure is a share of errors. The law
    predicts what is best for the measure from the effects with their true sizes; where effects
    multiply it holds their sum within 9 of the sum's usual deviations. A script that fails is paid
    0.
"""


class Open(TextAction, frozen=True):
    """Read a file."""

    file: str


class Execute(TextAction, frozen=True):
    """Run the script and measure its error on the validation data."""


class Undo(TextAction, frozen=True):
    """Go back to the version before the last edit."""


class Note(TextAction, frozen=True):
    """Write a line into the research log."""

    text: str


@dataclass(slots=True, kw_only=True)
class WorkspaceState(TaskState):
    """The state of a workspace."""

    kind: str  # of plain data
    seed: int  # of the data
    plan: Plan | None = None  # of a project
    opened: bool = False  # whether rows of the data were shown
    shown: Sample | None = None  # in a fork: these rows, from which all others are drawn
    versions: tuple[str, ...] = (STARTER,)  # of the script, the current one last
    measured: tuple[float, ...] = ()  # validation errors so far
    log: tuple[str, ...] = ()  # notes


@environment(
    "tasks/MLWorkspace-v0",
    family="text",
    tags=("programs", "experiments", "hidden-information"),
    paper=(
        "Huang et al. (2023), MLAgentBench: Evaluating Language Agents on Machine Learning "
        "Experimentation"
    ),
    splits={
        "plain": {"project": "plain"},
        **{name: {"project": "plain", "data": name} for name in KINDS},
        **{
            f"{held}{size}": {"project": size, "traits": traits}
            for held, traits in (("", "common"), ("held-out-", "rare"))
            for size in SIZES
        },
    },
)
@dataclass(frozen=True)
class MLWorkspace(TaskGame[WorkspaceState]):
    """One player improves a training script by experiments.

    There are no numbered actions. The reward is the improvement on the starter's test error, as a
    share of it, from 0 (no better) to 1 (no error); in a project as a share of the improvement that
    the law of the data brings.
    """

    data: Annotated[
        Literal["any", "line", "curve", "classes", "series"],
        Meta(description="what plain data is like; any: drawn from the seed"),
    ] = "any"
    project: Annotated[
        Literal["plain", "small", "medium", "large"],
        Meta(
            description="plain: data of a kind, a demonstration; otherwise a project with 3, 4 or "
            "6 effects and 2, 3 or 4 troubles, told in words"
        ),
    ] = "medium"
    traits: Annotated[
        Literal["common", "rare"],
        Meta(description="effects and troubles of a project; rare: those that are held out"),
    ] = "common"
    turns: Turns = 20

    runs_programs = True
    shown_past = 1
    rules_text = """
        You improve a training script. Open(file='data.csv') shows the first rows of the data, and
        Open(file='train.py') the script. Execute() runs the script and tells its error on
        validation data. To replace the script, end your turn with a program in a fenced block that
        begins with ```python, or with Program(code='…'); Undo() goes back to the version before.

        A script has a function predict(rows, targets, queries), which returns a list with a
        prediction for every query; rows and queries are lists of numbers. It may import bisect,
        collections, datetime, functools, heapq, itertools, json, math, re and statistics. There are
        no files and no random numbers, and the number of lines it executes is limited.

        Finish() hands in the script that is there. You are paid by how much smaller its error on
        hidden test data is than that of the script that was there at first, as a share.
    """
    action_types = (Open, Program, Execute, Undo, Finish, Note)

    def validate(self) -> None:
        require_sandbox()
        if self.project == "plain" and self.traits != "common":
            raise InvalidOption(
                f"traits={self.traits!r} is for a project that is composed; set project to small, "
                "medium or large, or leave traits out"
            )
        if self.project != "plain" and self.data != "any":
            raise InvalidOption(
                f"data={self.data!r} is for project='plain'; set it, or leave data out: a project "
                "has data of its own"
            )

    def rules_for(self, seat: int) -> str:
        return super().rules_for(seat) if self.project == "plain" else paragraphs(PROJECT_RULES)

    def initial_state(self, seed: int | None = None) -> WorkspaceState:
        rng = Rng.seeded(check_seed(seed))
        if self.project != "plain":
            plan = draw_plan(Rng.seeded(rng.word(), 65), self.project, self.traits)
            starter = (STARTERS[plan.measure],)
            return WorkspaceState(rng=rng, kind="", seed=rng.word(), plan=plan, versions=starter)
        drawn = rng.choice(KINDS)
        kind = drawn if self.data == "any" else self.data
        return WorkspaceState(rng=rng, kind=kind, seed=rng.word())

    # What is learned from

    def samples(self, state: WorkspaceState) -> tuple[Sample, Sample, Sample]:
        """Training, validation and test rows."""
        if state.plan:
            train, *hidden = draw_project(state.plan, state.seed).samples
            known = state.shown or Sample((), ())
            more = len(known.rows)
            rows, targets = train.rows[more:], train.targets[more:]
            train = Sample((*known.rows, *rows), (*known.targets, *targets))
            return (train, hidden[0], hidden[1])
        drawn = draw_data(state.kind, state.seed)
        if state.shown is None:
            return drawn
        known, rng = state.shown, Rng.seeded(state.seed, 62)
        more = len(drawn[0].rows) - len(known.rows)
        rest = self._drawn_again(known, more, rng)
        train = Sample((*known.rows, *rest.rows), (*known.targets, *rest.targets))
        hidden = [self._drawn_again(known, len(one.rows), rng) for one in drawn[1:]]
        return (train, hidden[0], hidden[1])

    def _drawn_again(self, known: Sample, count: int, rng: Rng) -> Sample:
        places = [rng.below(len(known.rows)) for _ in range(count)]
        return Sample(tuple(known.rows[n] for n in places), tuple(known.targets[n] for n in places))

    def score_script(
        self, state: WorkspaceState, code: str, sample: Sample
    ) -> tuple[float | None, str]:
        """The error of a script on some rows, or None and why there is none."""
        predicted, why = self.predict(state, code, sample)
        return (None, why) if why else (self.error_of(state, predicted, sample), "")

    def predict(
        self, state: WorkspaceState, code: str, sample: Sample
    ) -> tuple[Sequence[float], str]:
        """What a script predicts for some rows, or nothing and why."""
        known = self.samples(state)[0]
        limits = LIMITS
        if state.plan:
            code, limits = f"{TOOLS}\n\n\n{code}", PROJECT_LIMITS
        ran = run(code, "predict", known.rows, known.targets, sample.rows, limits=limits)
        why = ran.error or problem_with(ran.value, len(sample.rows))
        return ((), why) if why else (ran.value, "")

    def error_of(self, state: WorkspaceState, predicted: Sequence[float], sample: Sample) -> float:
        """The error of predictions, by the measure of the project or kind."""
        if state.plan:
            return error_by(state.plan.measure, predicted, sample.targets)
        return error(state.kind, predicted, sample.targets)

    # The rules

    def statement(self, state: WorkspaceState, seat: int) -> str:
        if state.plan:
            return f"{state.plan}\nFiles: {DATA}, {SCRIPT}, {TOOLBOX}."
        return f"Predict {MEANING[state.kind]}. Files: {DATA}, {SCRIPT}."

    def notes(self, state: WorkspaceState, seat: int) -> tuple[str, ...]:
        found = ", ".join(f"{one:.4f}" for one in state.measured)
        version, *log = self.noted(state, seat)
        return (f"{version} Validation errors so far: {found or 'none'}.", *log)

    def noted(self, state: WorkspaceState, seat: int | None) -> tuple[str, ...]:
        """The version and the log; errors are in the chart."""
        log = [f"Log: {quote(one)}" for one in state.log]
        return (f"{SCRIPT} is at version {len(state.versions)}.", *log)

    def options(self, state: WorkspaceState, seat: int) -> tuple[Option, ...]:
        files: tuple[str, ...] = (DATA, SCRIPT)
        scripts, log = [STARTER], tuple[Option, ...]()  # examples are no better than the first one
        if state.plan:
            files = (DATA, SCRIPT, TOOLBOX)
            scripts = [STARTERS[state.plan.measure]]
            log = (Option(Note, {"text": Text(LONGEST_NOTE, ("Logarithms help.",))}),)
        scripts.append("def predict(rows, targets, queries):\n    return []")
        return (
            Option(Open, {"file": OneOf(files)}),
            Option(Program, {"code": Text(LONGEST_PROGRAM, tuple(scripts))}),
            Option(Execute),
            *((Option(Undo),) if len(state.versions) > 1 else ()),
            *log,
            FINISH,
        )

    def respond(self, state: WorkspaceState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            state.closed = True
            return Reply("The script is handed in.", kind="finish")
        if isinstance(action, Program):
            state.versions = (*state.versions, action.code)
            return Reply(f"{SCRIPT} is at version {len(state.versions)}.", kind="edit")
        if isinstance(action, Undo):
            state.versions = state.versions[:-1]
            return Reply(f"{SCRIPT} is at version {len(state.versions)} again.", kind="edit")
        if isinstance(action, Execute):
            return self._execute(state)
        if isinstance(action, Note):
            state.log = (*state.log, action.text)
            return Reply("Noted.", kind="note")
        if action.file == TOOLBOX:
            return Reply(f"{TOOLBOX}: {quote(TOOLS)}", kind="file")
        if action.file == SCRIPT:
            return Reply(f"{SCRIPT}: {quote(state.versions[-1])}", kind="file")
        state.opened = True
        return Reply(f"{DATA}:\n{self._table(state)}", {"file": DATA})

    def _table(self, state: WorkspaceState) -> str:
        known = self.samples(state)[0]
        names = [*(f"x{n}" for n in range(len(known.rows[0]))), "target"]
        if state.plan:
            names = [*(one.name for one in state.plan.columns), state.plan.target]
        head = ",".join(names)
        pairs = list(zip(known.rows, known.targets, strict=True))[:SHOWN]
        lines = [
            ",".join((_written(x) if state.plan else f"{x:g}") for x in (*row, target))
            for row, target in pairs
        ]
        return "\n".join([head, *lines, f"({len(known.rows)} rows in all)"])

    def _execute(self, state: WorkspaceState) -> Reply:
        found, why = self.score_script(state, state.versions[-1], self.samples(state)[1])
        if found is None:
            return Reply(f"The script failed: {why}.", {"error": why})
        state.measured = (*state.measured, found)
        return Reply(f"Error on the validation data: {found:.4f}.", {"validation": found})

    def settle(self, state: WorkspaceState) -> Final:
        test = self.samples(state)[2]
        first, _ = self.score_script(state, state.versions[0], test)
        last, why = self.score_script(state, state.versions[-1], test)
        if last is None or first is None:
            return solo(0.0, f"The script failed: {why}.", gain=0.0, success=False, ran=False)
        gain = 1 - last / first if first else -float(last > 0)
        reason = f"Test error {last:.4f}, that of the first script {first:.4f}."
        if not state.plan:
            return solo(max(0.0, gain), reason, gain=gain, success=gain >= SUCCESS, ran=True)
        known = self.error_of(state, draw_project(state.plan, state.seed).known_best, test)
        share = share_of_way(first, last, known, state.plan.measure)
        reason = f"{reason[:-1]}, that of the law {known:.4f}."
        return solo(share, reason, gain=gain, success=gain >= SUCCESS, ran=True)

    def determinize(self, state: WorkspaceState, seat: int, rng: Rng) -> WorkspaceState:
        """Other data; once rows were shown, these, and others drawn from them.

        In a project the others come from a law of the same description with other weights. A
        validation error says little of the data: it stays as it was measured.
        """
        copy = self.copy_for(state, seat)
        copy.seed = rng.word()
        if state.opened and state.shown is None:
            known = self.samples(state)[0]
            copy.shown = Sample(known.rows[:SHOWN], known.targets[:SHOWN])
        return copy

    def picture(self, state: WorkspaceState, seat: int | None) -> tuple[Part, ...]:
        """Every validation error, and what an executed script predicts, which spectators see."""
        tried = [(error, True) for error in state.measured]
        parts: list[Part] = []
        if tried:
            level = ("first", state.measured[0])
            parts.append(
                tries_chart(tried, len(tried), "validation error", level, most=False, what="run")
            )
        if seat is None and tried and self._is_executed(state):
            sample = self.samples(state)[1]
            predicted, why = self.predict(state, state.versions[-1], sample)
            if not why:
                return (*parts, fit_chart(state.kind, sample, [float(one) for one in predicted]))
        if (seat is None or state.opened) and not state.plan:
            known, rows = self.samples(state)[0], None if seat is None else SHOWN
            parts.append(data_chart(state.kind, known.rows[:rows], known.targets[:rows]))
        return tuple(parts)

    @staticmethod
    def _is_executed(state: WorkspaceState) -> bool:
        """Whether the script was executed as it is: no picture runs another one."""
        done = (one.action for one in reversed(state.past))
        last = next((one for one in done if isinstance(one, Program | Undo | Execute)), None)
        return isinstance(last, Execute)


def data_chart(kind: str, rows: Sequence[Any], targets: Sequence[float]) -> Chart:
    """Rows of plain data: what is to be predicted by the first number, or classes on a plane."""
    if kind != "classes":
        points = tuple((float(row[0]), float(one)) for row, one in zip(rows, targets, strict=True))
        return Chart(
            thinned((Series("", points, "points", 0),)), "rows of the data", "x0", "target"
        )
    series = tuple(
        Series(
            f"class {number}",
            tuple((row[0], row[1]) for row, c in zip(rows, targets, strict=True) if c == number),
            "points",
            number,
        )
        for number in (0, 1)
    )
    return Chart(thinned(series), "rows of the data", "x0", "x1")


def fit_chart(kind: str, sample: Sample, predicted: Sequence[float]) -> Chart:
    """Predictions beside the truth: on the plane of two numbers, over the months, or pair by pair.

    kind: of plain data, or "" in a project. The nearer points are to the line, the better.
    """
    truth = [float(target) for target in sample.targets]
    near = FARTHEST * (1 + max(map(abs, truth)))  # what is farther away is drawn there
    predicted = [min(near, max(-near, value)) for value in predicted]
    if kind == "classes":
        right, wrong = (
            tuple(
                (float(row[0]), float(row[1]))
                for row, a, b in zip(sample.rows, truth, predicted, strict=True)
                if (a == b) is match
            )
            for match in (True, False)
        )
        series = (
            Series("right", right, "points", "green"),
            Series("wrong", wrong, "points", "red"),
        )
        return Chart(thinned(series), "validation rows", "x0", "x1")
    if kind == "series":
        months = [float(row[0]) for row in sample.rows]
        series = (
            Series("true", tuple(zip(months, truth, strict=True)), "line", "green"),
            Series("predicted", tuple(zip(months, predicted, strict=True)), "points", 0),
        )
        return Chart(thinned(series), "validation rows", "month")
    ends = (min(truth), max(truth))
    series = (
        Series("right", tuple((end, end) for end in ends), "line", "green"),
        Series("predicted", tuple(zip(truth, predicted, strict=True)), "points", 0),
    )
    return Chart(thinned(series), "validation rows", "true", "predicted")


def share_of_way(first: float, last: float, known: float, measure: str) -> float:
    """The share of the way from the first test error to a known one that the last has come, 0 to 1.

    A way below a tenth of the first error, or below `FEWEST` rows where the measure counts wrong
    rows, is taken as that long: on a shorter one chance decides.
    """
    fewest = FEWEST / TEST if measure in ("error", "balanced") else 0.0
    way = max(first - known, SUCCESS * first, fewest)
    return min(1.0, max(0.0, (first - last) / way)) if way else 0.0


def _written(cell: Any) -> str:
    """A cell as the file has it."""
    if cell is None:
        return ""
    return cell if isinstance(cell, str) else f"{cell:.10g}" if cell % 1 else f"{cell:.0f}"


@metric(
    "experiment-success", measures=("tasks/MLWorkspace-v0",), bounds=(0.0, 1.0), better="higher"
)
def experiment_success(record: EpisodeRecord) -> dict[str, float] | None:
    """Whether the script is better than the first one by a tenth, and whether it runs."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    if not found:
        return None
    return {"tenth": float(found[-1]["success"]), "runs": float(found[-1]["ran"])}
