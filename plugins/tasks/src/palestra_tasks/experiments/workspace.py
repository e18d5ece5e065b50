"""A workspace of machine learning: improve a training script by experiments.

The workspace has a description, data and a training script that runs. The player reads files,
writes the script, executes it and reads its output and its error on validation data, goes back to
an earlier version, and hands in. Scripts run in the sandbox. The script that is there at the end is
scored on a hidden test, against the one that was there at first.

After Huang, Vora, Liang and Leskovec, "MLAgentBench: Evaluating Language Agents on Machine Learning
Experimentation", 2023, in which an experiment succeeds if it improves on the starter by a tenth.
The data is drawn from the seed.

Checked: the starter, least squares and nearest neighbours against scikit-learn on the same rows.

Left out: the authors' 13 data sets, deep networks and a GPU, search in papers, and time in place of
executed lines.
"""

from __future__ import annotations

import re
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
    quote,
)
from palestra.kernel.rng import check_seed
from palestra.sandbox import Limits
from palestra.scene import Bar, Bars, Part

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
    problem_with,
)
from palestra_tasks.experiments.programs import LINEAR, NEIGHBOURS, QUADRATIC, SEASONAL, STARTER
from palestra_tasks.running import LONGEST_PROGRAM, require_sandbox, run

DATA, SCRIPT = "data.csv", "train.py"
SHOWN = 12  # rows of data that are shown
SUCCESS = 0.1  # improvement on the starter that counts as a success
LIMITS = Limits(lines=1_000_000, cpu=5, seconds=15.0)


class Open(TextAction, frozen=True):
    """Read a file."""

    file: str


class Execute(TextAction, frozen=True):
    """Run the script and measure its error on the validation data."""


class Undo(TextAction, frozen=True):
    """Go back to the version before the last edit."""


@dataclass(slots=True, kw_only=True)
class WorkspaceState(TaskState):
    """The state of a workspace."""

    kind: str
    seed: int  # of the data
    opened: bool = False  # whether rows of the data were shown
    shown: Sample | None = None  # in a fork: these rows, from which all others are drawn
    versions: tuple[str, ...] = (STARTER,)  # of the script, the current one last
    measured: tuple[float, ...] = ()  # validation errors so far


@environment(
    "tasks/MLWorkspace-v0",
    family="text",
    tags=("programs", "experiments", "hidden-information"),
    paper=(
        "Huang et al. (2023), MLAgentBench: Evaluating Language Agents on Machine Learning "
        "Experimentation"
    ),
    splits={name: {"data": name} for name in KINDS},
)
@dataclass(frozen=True)
class MLWorkspace(TaskGame[WorkspaceState]):
    """One player improves a training script by experiments.

    There are no numbered actions. The reward is the improvement on the starter's test error, as a
    share of it, from 0 (no better) to 1 (no error).
    """

    data: Annotated[
        Literal["any", "line", "curve", "classes", "series"],
        Meta(description="what the data is like; any: drawn from the seed"),
    ] = "any"
    turns: Turns = 20

    runs_programs = True
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
    action_types = (Open, Program, Execute, Undo, Finish)

    def validate(self) -> None:
        require_sandbox()

    def initial_state(self, seed: int | None = None) -> WorkspaceState:
        rng = Rng.seeded(check_seed(seed))
        drawn = rng.choice(KINDS)
        kind = drawn if self.data == "any" else self.data
        return WorkspaceState(rng=rng, kind=kind, seed=rng.word())

    # What is learned from

    def samples(self, state: WorkspaceState) -> tuple[Sample, Sample, Sample]:
        """Training, validation and test rows."""
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
        known = self.samples(state)[0]
        ran = run(code, "predict", known.rows, known.targets, sample.rows, limits=LIMITS)
        why = ran.error or problem_with(ran.value, len(sample.rows))
        return (None, why) if why else (error(state.kind, ran.value, sample.targets), "")

    # The rules

    def statement(self, state: WorkspaceState, seat: int) -> str:
        return f"Predict {MEANING[state.kind]}. Files: {DATA}, {SCRIPT}."

    def notes(self, state: WorkspaceState, seat: int) -> tuple[str, ...]:
        found = ", ".join(f"{one:.4f}" for one in state.measured)
        version = f"{SCRIPT} is at version {len(state.versions)}."
        return (f"{version} Validation errors so far: {found or 'none'}.",)

    def options(self, state: WorkspaceState, seat: int) -> tuple[Option, ...]:
        scripts = (STARTER, LINEAR, "def predict(rows, targets, queries):\n    return []")
        return (
            Option(Open, {"file": OneOf((DATA, SCRIPT))}),
            Option(Program, {"code": Text(LONGEST_PROGRAM, scripts)}),
            Option(Execute),
            *((Option(Undo),) if len(state.versions) > 1 else ()),
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
        if action.file == SCRIPT:
            return Reply(f"{SCRIPT}: {quote(state.versions[-1])}", kind="file")
        state.opened = True
        return Reply(f"{DATA}:\n{self._table(state)}", {"file": DATA})

    def _table(self, state: WorkspaceState) -> str:
        known = self.samples(state)[0]
        head = ",".join([*(f"x{n}" for n in range(len(known.rows[0]))), "target"])
        pairs = list(zip(known.rows, known.targets, strict=True))[:SHOWN]
        lines = [",".join(f"{x:g}" for x in (*row, target)) for row, target in pairs]
        return "\n".join([head, *lines, f"({len(known.rows)} rows in all)"])

    def _execute(self, state: WorkspaceState) -> Reply:
        found, why = self.score_script(state, state.versions[-1], self.samples(state)[1])
        if found is None:
            return Reply(f"The script failed: {why}.", {"error": why})
        state.measured = (*state.measured, found)
        return Reply(f"Error on the validation data: {found:.4f}.", {"validation": found})

    def settle(self, state: WorkspaceState) -> Final:
        test = self.samples(state)[2]
        first, _ = self.score_script(state, STARTER, test)
        last, why = self.score_script(state, state.versions[-1], test)
        if last is None or not first:
            return solo(0.0, f"The script failed: {why}.", gain=0.0, success=False, ran=False)
        gain = 1 - last / first
        reason = f"Test error {last:.4f}, that of the first script {first:.4f}."
        return solo(max(0.0, gain), reason, gain=gain, success=gain >= SUCCESS, ran=True)

    def determinize(self, state: WorkspaceState, seat: int, rng: Rng) -> WorkspaceState:
        """Other data; once rows were shown, these, and others drawn from them.

        A validation error says little of the data: it stays as it was measured.
        """
        copy = self.copy_for(state, seat)
        copy.seed = rng.word()
        if state.opened and state.shown is None:
            known = self.samples(state)[0]
            copy.shown = Sample(known.rows[:SHOWN], known.targets[:SHOWN])
        return copy

    def picture(self, state: WorkspaceState, seat: int | None) -> tuple[Part, ...]:
        if not state.measured:
            return ()
        most = max(state.measured) or 1.0
        shown = enumerate(state.measured[-6:], max(1, len(state.measured) - 5))
        return (Bars(tuple(Bar(f"error {n}", one, most, 0) for n, one in shown)),)


@agent("experimenter", kind="solver")
class Experimenter(ScriptedAgent[MLWorkspace]):
    """Tries four scripts, measures each, and hands in the one with the smallest error."""

    scripts = (LINEAR, QUADRATIC, SEASONAL, NEIGHBOURS)

    def choose(self, turn: Turn[MLWorkspace]) -> Any:
        made = self.actions_made(turn)
        tried, executing = divmod(made, 2)
        if tried < len(self.scripts):
            return Execute() if executing else Program(self.scripts[tried])
        if made > 2 * len(self.scripts):
            return Finish()
        return Program(self.scripts[self.best(turn)])

    def actions_made(self, turn: Turn[MLWorkspace]) -> int:
        """How many actions were made, by what the position says is left."""
        left, total = re.findall(r"Actions left: (\d+) of (\d+)\.", turn.position)[-1]
        return int(total) - int(left)

    def best(self, turn: Turn[MLWorkspace]) -> int:
        """The script with the smallest validation error; one that failed has none."""
        found: dict[int, float] = {}
        script = -1
        for event in turn.transcript:
            script += event.kind == "edit"
            if "validation" in event.data:
                found[script] = event.data["validation"]
        return min(found, key=found.__getitem__, default=0)


@agent("experimenter-linear", kind="scripted")
class FirstIdea(ScriptedAgent[MLWorkspace]):
    """Hands in least squares without an experiment."""

    def choose(self, turn: Turn[MLWorkspace]) -> Any:
        return Program(LINEAR) if "version 1." in turn.position else Finish()


@metric(
    "experiment-success", measures=("tasks/MLWorkspace-v0",), bounds=(0.0, 1.0), better="higher"
)
def experiment_success(record: EpisodeRecord) -> dict[str, float] | None:
    """Whether the script is better than the first one by a tenth, and whether it runs."""
    found = [event.data["verdict"] for event in record.events if "verdict" in event.data]
    if not found:
        return None
    return {"tenth": float(found[-1]["success"]), "runs": float(found[-1]["ran"])}
