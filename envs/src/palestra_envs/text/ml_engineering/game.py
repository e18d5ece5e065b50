"""Machine-learning engineering: write programs that learn a table's labels from examples.

In every turn the player hands in a Python program or finishes. A program loads labelled training
rows and test rows without labels, and submits a label for every test row; it runs in the sandbox
with limits on time and memory. The last submission counts. The score is the accuracy on the hidden
labels above that of the more frequent label, as a share of what is possible; the episode is won
from an accuracy of `target` on.

The game reports two facts for credit, neither of which a player is shown: the milestones that the
programs passed, by calls that a static writer puts into them, and how long a program took by a
simulated clock (`START_SECONDS`, and `ROW_SECONDS` for every row loaded), so that the same program
always takes as long.

From "Reinforcement Learning for Machine Learning Engineering Agents", 2025, whose agents write
programs for Kaggle's tasks; there a second language model writes the milestones. The tables are
drawn from the seed: whole numbers from 0 to 9, and a label that says whether the sum of two of the
columns is at least nine, flipped with the chance `noise`.

Checked: milestones and times by hand; a clean table is learnt whole and scored above the majority;
labels stay hidden.

Left out: Kaggle's tasks, and milestones written by a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Any

from gymnasium import spaces
from palestra import (
    Event,
    Grammar,
    InvalidAction,
    InvalidOption,
    Meta,
    Option,
    Outcome,
    Rng,
    Scene,
    Step,
    Text,
    TextAction,
    TextGame,
    environment,
)
from palestra.answers import LONGEST_ANSWER, said
from palestra.sandbox import Limits, run_program
from palestra.scene import Bar, Bars, Grid, Part, Piece, Saying, Talk

from palestra_envs.text.ml_engineering.instrument import MARK, MILESTONES, instrument

START_SECONDS, ROW_SECONDS = 0.05, 0.01
LONGEST = 6000  # characters of a program
LABELS, ACROSS = 60, 20  # test rows in a picture, and in a row of it
SHOWN = 1500  # characters of its output that the player is shown
LIMITS = Limits(lines=2_000_000, printed=4000)
BORDER = 9  # the sum of two columns from which on a label is 1
Row = tuple[int, ...]
_LINE = re.compile(r"\bline (\d+)")
_FENCED = re.compile(r"```(?:python|py)\n(.*?)```", re.DOTALL)
NEEDED: dict[str, set[str]] = {  # calls that have to be answered before a milestone
    "imports": set(),
    "data": {"train"},
    "fit": {"train"},
    "predict": {"train", "test"},
    "submit": {"train", "submit"},
}

SAMPLES = (
    "import statistics\nrows = load('training')",
    "rows = load('train')\nprint(len(rows))\nfit(rows)",
    "rows = load('train', 20)\nones = sum(row[-1] for row in rows)\n"
    "label = int(2 * ones > len(rows))\ntests = load('test')\nsubmit([label for row in tests])",
)


class Program(TextAction, frozen=True):
    """Run a Python program."""

    code: str


class Finish(TextAction, frozen=True):
    """End the episode; the last submission counts."""


@dataclass(frozen=True, slots=True)
class Run:
    """What running a program led to."""

    printed: str
    error: str
    submitted: tuple[int, ...] | None
    milestones: tuple[str, ...]
    seconds: float  # by the simulated clock


@dataclass(slots=True)
class Work:
    """The state: the table, and what the programs have done."""

    rng: Rng
    train: tuple[Row, ...]  # features, then the label
    test: tuple[Row, ...]
    labels: tuple[int, ...]  # of the test rows; hidden
    codes: tuple[str, ...] = ()  # of the programs that were run, and what each was answered
    replies: tuple[str, ...] = ()
    submitted: tuple[int, ...] | None = None
    milestones: tuple[str, ...] = ()
    seconds: float = 0.0
    finished: bool = False


@environment(
    "text/MLEngineering-v0",
    family="text",
    tags=("programs", "hidden-information"),
    paper="Reinforcement Learning for Machine Learning Engineering Agents (2025)",
)
@dataclass(frozen=True)
class MLEngineering(TextGame[Work]):
    """Write programs that learn labels from a table, and submit labels for rows without them.

    Text only. A program is a fenced block of Python that ends the answer, or Program(code='…').
    """

    columns: Annotated[int, Meta(ge=2, le=8, description="features of every row")] = 4
    train_rows: Annotated[int, Meta(ge=10, le=1000, description="rows with labels")] = 120
    test_rows: Annotated[int, Meta(ge=10, le=1000, description="rows without labels")] = 60
    noise: Annotated[float, Meta(ge=0, le=0.4, description="chance that a label is flipped")] = 0.05
    target: Annotated[float, Meta(ge=0, le=1, description="accuracy from which on one wins")] = 0.85
    programs: Annotated[int, Meta(ge=1, le=100, description="programs that may be run")] = 4

    runs_programs = True
    rules_text = """
        You are a machine-learning engineer. You write Python programs that predict labels.

        In your turn, hand in a program as a block that begins with ```python and ends with ```, at
        the end of your answer, or write Finish(). A program may import only bisect, collections,
        datetime, functools, heapq, itertools, json, math, re and statistics. It can call:
        - load('train') for the training rows: lists of numbers, of which the last is the label, 0
        or 1; load('train', 20) for the first 20 of them;
        - load('test') for the test rows, which have no label;
        - submit(labels) with a list of one label, 0 or 1, for each test row in order.
        You read what it prints, and its error if it ends in one. Each program starts afresh. The
        last submission counts when you finish or have used up your programs.

        The score is the accuracy on the test rows above that of the more frequent label, as a share
        of what is possible.
    """
    order = "sequential"
    payoffs = "general"
    num_players = 1
    perfect_information = False
    deterministic = True
    reward_terms = ("score",)
    payoff_bounds = (0.0, 1.0)
    action_types = (Program, Finish)
    menu = ()

    # The rules

    def initial_state(self, seed: int | None = None) -> Work:
        rng = Rng.seeded(seed)
        first = rng.below(self.columns)
        second = (first + 1 + rng.below(self.columns - 1)) % self.columns
        rows, labels = [], []
        for _ in range(self.train_rows + self.test_rows):
            row = tuple(rng.below(10) for _ in range(self.columns))
            rows.append(row)
            labels.append(int((row[first] + row[second] >= BORDER) != (rng.random() < self.noise)))
        known = self.train_rows
        train = tuple((*row, y) for row, y in zip(rows[:known], labels, strict=False))
        return Work(rng, train, tuple(rows[known:]), tuple(labels[known:]))

    def to_act(self, state: Work) -> tuple[int, ...]:
        return () if state.finished or len(state.replies) >= self.programs else (0,)

    def legal(self, state: Work, seat: int) -> Grammar:
        code = Text(LONGEST, samples=SAMPLES)
        return Grammar((Option(Program, {"code": code}), Option(Finish)))

    def step(self, state: Work, actions: Mapping[int, TextAction]) -> Step:
        action, events = actions[0], []
        if isinstance(action, Program):
            run = run_on_table(action.code, state.train, state.test)
            state.codes = (*state.codes, action.code)
            state.submitted = state.submitted if run.submitted is None else run.submitted
            passed = {*state.milestones, *run.milestones}
            state.milestones = tuple(name for name in MILESTONES if name in passed)
            state.seconds = run.seconds
            state.replies = (*state.replies, reply(run))
            data = {"printed": run.printed, "error": run.error}
            events.append(Event("reveal", f"Program {len(state.replies)}: {reply(run)}", data))
        else:
            state.finished, state.seconds = True, 0.0
            events.append(Event("finish", "The work is finished."))
        if self.to_act(state):
            return Step(events=events)
        text = f"Accuracy on the test rows: {self.accuracy(state):.3f}."
        events.append(Event("reveal", text, {"accuracy": self.accuracy(state)}))
        return Step({0: {"score": self.score(state)}}, events=events)

    def accuracy(self, state: Work) -> float:
        """The share of test rows whose label the last submission has right; 0 without one."""
        if state.submitted is None:
            return 0.0
        pairs = zip(state.submitted, state.labels, strict=True)
        return sum(one == other for one, other in pairs) / len(state.labels)

    def score(self, state: Work) -> float:
        """The accuracy above that of the more frequent label, as a share of what is possible."""
        ones = sum(state.labels) / len(state.labels)
        base = max(ones, 1 - ones)
        return max(0.0, (self.accuracy(state) - base) / (1 - base)) if base < 1 else 0.0

    def outcome(self, state: Work) -> Outcome | None:
        if self.to_act(state):
            return None
        reached = self.accuracy(state)
        won = reached >= self.target
        reason = f"The accuracy is {reached:.3f}, the target {self.target:g}."
        return Outcome(("win" if won else "loss",), (self.score(state),), reason)

    def record_facts(self, state: Work) -> dict[str, Any]:
        """Facts for the record: milestones of all programs so far, and the last one's duration."""
        return {
            "milestones": list(state.milestones),
            "progress": len(state.milestones) / len(MILESTONES),
            "duration": state.seconds,
        }

    def determinize(self, state: Work, seat: int, rng: Rng) -> Work:
        """Draw another table, if all programs would have been answered alike on it.

        Otherwise the rows count as seen, and each hidden label is drawn again, as likely as among
        the training rows.
        """
        imagined = self.clone(state)
        imagined.rng = Rng.seeded(rng.word())
        other = self.initial_state(rng.word())
        runs = [run_on_table(code, other.train, other.test) for code in state.codes]
        if tuple(map(reply, runs)) == state.replies:
            imagined.train, imagined.test, imagined.labels = other.train, other.test, other.labels
            handed = [run.submitted for run in runs if run.submitted is not None]
            imagined.submitted = handed[-1] if handed else None
            return imagined
        ones = sum(row[-1] for row in state.train) / len(state.train)
        imagined.labels = tuple(int(rng.random() < ones) for _ in state.labels)
        return imagined

    # What the player reads and writes

    def rules_for(self, seat: int) -> str:
        return (
            f"{super().rules_for(seat)}\nRows have {self.columns} features. There are "
            f"{self.train_rows} training rows and {self.test_rows} test rows. You may run "
            f"{self.programs} programs."
        )

    def describe(self, state: Work, seat: int) -> str:
        handed = "Labels were submitted." if state.submitted else "Nothing was submitted yet."
        return f"Programs run: {len(state.replies)} of {self.programs}. {handed}"

    def state_key(self, state: Work, seat: int | None = None) -> bytes:
        """For the player: a hash of the description and of what the programs printed."""
        if seat is None:
            return super().state_key(state)
        known = f"{self.describe(state, seat)}\n{state.replies!r}"
        return blake2b(known.encode(), digest_size=16).digest()

    def parse(self, state: Work, seat: int, text: str) -> TextAction:
        if len(text) <= LONGEST_ANSWER:
            found = list(_FENCED.finditer(said(text)))
            if found and not found[-1].string[found[-1].end() :].strip():
                action = Program(found[-1][1])
                self.check(state, seat, action)
                return action
        return super().parse(state, seat, text)

    def observation_space(self, seat: int) -> spaces.Box:
        raise InvalidOption(
            "MLEngineering has no array observation; use the text view (obs='text')"
        )

    def observe(self, state: Work, seat: int) -> Any:
        raise InvalidOption(
            "MLEngineering has no array observation; use the text view (obs='text')"
        )

    def scene(self, state: Work, seat: int | None = None) -> Scene:
        """The programs that were run, and the last one with its answer.

        A spectator also sees the milestones, the first test rows, green where the last submission
        has their label right, and its accuracy on all of them beside the target.
        """
        parts: list[Part] = []
        if seat is None:
            parts += [_milestone_grid(state), _label_grid(state)]
        bars = [Bar("programs", len(state.replies), self.programs, 0)]
        if seat is None:
            accuracy = self.accuracy(state)
            reached = accuracy >= self.target
            bars.append(Bar("accuracy", round(accuracy, 3), 1, "green" if reached else "red"))
            bars.append(Bar("target", self.target, 1, "gold"))
        parts.append(Bars(tuple(bars)))
        if state.codes:
            failed = "error: " in state.replies[-1]
            code = Saying(self.players[0], state.codes[-1].strip("\n")[:SHOWN], 0, code=True)
            answer = Saying(
                "error" if failed else "output", state.replies[-1], "red" if failed else "green"
            )
            parts.append(Talk((code, answer)))
        return Scene(self.describe(state, 0), parts=tuple(parts))


def _milestone_grid(state: Work) -> Grid:
    """What programs have come to so far, in order."""
    cells = tuple(
        Piece("+", "green", label="reached") if name in state.milestones else None
        for name in MILESTONES
    )
    return Grid((cells,), column_labels=MILESTONES)


def _label_grid(state: Work) -> Grid:
    """The labels of the first test rows: green if submitted so, red if otherwise, else grey."""
    shown = state.labels[:LABELS]
    handed = state.submitted or (None,) * len(shown)
    pieces: list[Piece | None] = [
        Piece(str(y), "silver" if guess is None else "green" if guess == y else "red")
        for y, guess in zip(shown, handed, strict=False)
    ]
    pieces += [None] * (-len(pieces) % ACROSS)
    return Grid(tuple(tuple(pieces[n : n + ACROSS]) for n in range(0, len(pieces), ACROSS)))


def reply(run: Run) -> str:
    """What the player reads about a run."""
    parts = [run.printed[:SHOWN].rstrip(), f"error: {run.error}" if run.error else ""]
    parts.append("" if run.submitted is None else f"{len(run.submitted)} labels were submitted.")
    return "\n".join(part for part in parts if part) or "It printed nothing."


@lru_cache(maxsize=256)  # the same program prints the same output, here as in any other process
def run_on_table(code: str, train: tuple[Row, ...], test: tuple[Row, ...]) -> Run:
    """Run a program on a table."""
    desk = _Desk({"train": train, "test": test})
    tools: dict[str, Callable[..., Any]] = {
        "load": desk.load,
        "submit": desk.submit,
        MARK: desk.mark,
    }
    try:
        written, lines = instrument(code)
        ran = run_program(written, tools=tools, limits=LIMITS)
    except InvalidAction as refused:
        return Run("", str(refused), None, (), START_SECONDS)
    error = _LINE.sub(lambda said: f"line {lines.get(int(said[1]), said[1])}", ran.error)
    return Run(ran.printed, error, desk.labels, tuple(desk.marks), desk.seconds)


class _Desk:
    """The functions of one program, and what it did with them."""

    def __init__(self, tables: Mapping[str, tuple[Row, ...]]) -> None:
        self._tables = tables
        self.labels: tuple[int, ...] | None = None
        self.done: set[str] = set()  # the calls that were answered
        self.marks: list[str] = []
        self.seconds = START_SECONDS

    def load(self, name: Any, rows: Any = None) -> list[list[int]]:
        if name not in self._tables:
            raise ValueError(f"load takes 'train' or 'test', not {name!r}")
        if rows is not None and (type(rows) is not int or rows < 0):
            raise ValueError(f"rows must be a whole number, not {rows!r}")
        found = [list(row) for row in self._tables[name][:rows]]
        self.seconds = round(self.seconds + ROW_SECONDS * len(found), 6)
        if found:
            self.done.add(name)
        return found

    def submit(self, labels: Any) -> None:
        size = len(self._tables["test"])
        known = isinstance(labels, list) and all(type(y) is int and y in (0, 1) for y in labels)
        if not known or len(labels) != size:
            raise ValueError(f"submit takes a list of {size} labels, each 0 or 1")
        self.labels = tuple(labels)
        self.done.add("submit")

    def mark(self, name: str) -> None:
        """Note a milestone, if the calls were made without which nobody passes it.

        The text alone does not tell: a call may stand in a function that nobody calls.
        """
        if NEEDED[name] <= self.done:
            self.marks.append(name)
