"""MARCO: make a slow program fast, with a judge of performance who says where it stands.

The player reads a correct and slow Python function and hands in faster ones. Each is first compared
with the slow one on three random arguments, then measured: the number of lines that it executes.
The best correct program is measured again on hidden arguments at the end; the reward is 1 - 1 /
speed-up, where the speed-up is the ratio of lines, at least 1, and the mean over functions where
there are several.

A line that leaves much work to a built-in function is one line, and a program counts its lines in
its own process. So two things outside of it bound what is paid. A program has to return the right
value for an argument that is hundreds or thousands of times as large within two seconds of
processor time, which the kernel measures: the best programs known take a quarter of a second there,
composed ones up to three quarters, those that do as much work as the slow one four seconds to
minutes. And no speed-up counts for more than that of the best program known.

The eight named functions are a demonstration. With `kernel="composed"` functions are composed of
steps (`steps.py`): filters, maps, scans of a list and a total, where each scan and the total has a
slow program and a better one. Scans and totals of the pool `rare` are held out of `common`.

With two seats a coder writes the programs and a judge of performance answers each of them. The
judge alone reads how many lines it executes by the size of its argument, and how fast they grow;
they advise the coder, and state a lesson. Lessons stay from attempt to attempt and from function to
function (`functions`), while advice is about one program. A player alone keeps lessons with `Keep`.

After "MARCO: Multi-Agent Code Optimization with Real-Time Knowledge Integration for
High-Performance Computing", 2025, whose coder and performance judge time programs on a machine.
Lines are counted in place of time, because a record must replay exactly on every machine.

The metric `expert-share` is the measure of "GSO: Challenging Software Optimization Tasks for
Evaluating SWE-Agents", 2025: the share of functions on which a program reaches 95 % of an expert's
speed-up.

Checked: the better program of every kernel is correct and faster, also on the large argument; the
results of scans and totals by numpy, scipy and plain enumeration;
programs that leave the same work to built-in functions fail there; a wrong program is never paid;
the growth that a judge reads against the order that textbooks give for an algorithm.

Left out: time on a real machine, compilers, search of the web for
techniques, and GSO's repositories.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from palestra import (
    InvalidOption,
    Meta,
    Option,
    Rng,
    ScriptedAgent,
    Talking,
    Text,
    TextAction,
    Turn,
    agent,
    environment,
)
from palestra.kernel.rng import check_seed
from palestra.quoting import disarm
from palestra.sandbox import Limits
from palestra.scene import Bar, Bars, Chart, Part, Series

from palestra_tasks.algorithms.composing import (
    Pool,
    draw_name,
    kernel_of,
    program,
    read_name,
)
from palestra_tasks.algorithms.kernels import KERNELS
from palestra_tasks.desk import (
    FINISH,
    Final,
    Finish,
    Program,
    Reply,
    TaskGame,
    TaskState,
    Turns,
    shared_end,
)
from palestra_tasks.pictures import tries_chart
from palestra_tasks.running import LONGEST_PROGRAM, require_sandbox, run

MOST_LINES = 1_000_000
NAMES = Literal[
    "best-stretch",
    "common-subsequence",
    "inversions",
    "matrix-power",
    "pairs",
    "shortest-ways",
    "sieve",
    "smoothing",
]


LIMITS = Limits(lines=MOST_LINES, cpu=2, seconds=10.0)
LARGE = Limits(lines=None, cpu=2, seconds=20.0)
COMPARED = 3  # arguments on which a program must return what the slow one does
MOST_LESSONS = 8  # that are kept: the latest
NEAR = 0.95  # of an expert's speed-up, from where on a program counts as fast as theirs
CODER, JUDGE = range(2)
COMPOSED = {"kernel": "composed"}


class Keep(TextAction, frozen=True):
    """Keep a lesson for later attempts and functions."""

    lesson: str


class Advise(TextAction, frozen=True):
    """Advise the coder on the program, and state a lesson to keep; it may be empty."""

    advice: str
    lesson: str


@lru_cache(maxsize=512)
def argument_of(name: str, size: int, seed: int, number: int) -> Any:
    """An argument of a kernel; nobody changes it."""
    return kernel_of(name).draw(Rng.seeded(seed, number + 1), size)


def difference(code: str, name: str, size: int, seed: int, count: int) -> str:
    """Why a program is wrong on one of some arguments; empty if it is right on all."""
    for number in range(count):
        # small arguments too, where slips at the ends show
        argument = argument_of(name, max(16, size >> number), seed, number)
        wanted = run(kernel_of(name).slow, "solve", argument, limits=LIMITS)
        found = run(code, "solve", argument, limits=LIMITS)
        if found.error:
            return found.error
        if found.value != wanted.value:
            return f"on argument {number} it returned {found.value!r:.80}, not {wanted.value!r:.80}"
    return ""


@lru_cache(maxsize=256)
def is_quick(code: str, name: str, seed: int) -> bool:
    """Whether a program returns the right value of a large argument in its time."""
    argument = kernel_of(name).large(Rng.seeded(seed, 0))
    wanted = run(kernel_of(name).better, "solve", argument, limits=LARGE)
    found = run(code, "solve", argument, limits=LARGE)
    return not found.error and found.value == wanted.value


def lines_of(code: str, name: str, size: int, seed: int) -> int:
    """How many lines a right program executes on the first argument, its definitions included."""
    argument = argument_of(name, size, seed, 0)
    return run(code, "solve", argument, limits=LIMITS).lines


@lru_cache(maxsize=4096)
def measure(code: str, name: str, size: int, seed: int = 0) -> tuple[tuple[int, int], ...]:
    """Sizes of arguments, and how many lines a program executes on each."""
    found = []
    for number in range(COMPARED):
        argument = argument_of(name, max(16, size >> number), seed, number)
        found.append((max(16, size >> number), run(code, "solve", argument, limits=LIMITS).lines))
    return tuple(dict(found).items())


def growth(measured: tuple[tuple[int, int], ...]) -> float | None:
    """The exponent with which lines grow from the smallest to the largest size; None if unknown."""
    (small, few), (large, many) = min(measured), max(measured)
    if small == large or not few or not many:
        return None
    return math.log(many / few) / math.log(large / small)


@dataclass(frozen=True, slots=True)
class Work:
    """A function that is done: its name, and the best program."""

    kernel: str
    code: str


@dataclass(slots=True, kw_only=True)
class SpeedState(TaskState):
    """The state of an optimisation of a program."""

    kernel: str
    seed: int  # of the arguments with feedback
    hidden: int  # of the arguments that count
    best: tuple[float, str] = (1.0, "")  # speed-up and program
    curve: tuple[float, ...] = ()
    coming: tuple[str, ...] = ()  # functions after this one
    works: tuple[Work, ...] = ()
    lessons: tuple[str, ...] = ()
    judged: str = ""  # the program that waits for the judge


@environment(
    "tasks/FastCode-v0",
    family="text",
    tags=("programs", "optimisation", "hidden-information"),
    paper=(
        "MARCO: Multi-Agent Code Optimization with Real-Time Knowledge Integration for "
        "High-Performance Computing (2025); GSO: Challenging Software Optimization Tasks for "
        "Evaluating SWE-Agents (2025)"
    ),
    splits={
        "small": {**COMPOSED, "scans": 1, "size": 60},
        "medium": {**COMPOSED, "scans": 2, "size": 90},
        "large": {**COMPOSED, "scans": 3, "size": 120},
        "held-out-small": {**COMPOSED, "scans": 1, "size": 60, "pool": "rare"},
        "held-out-medium": {**COMPOSED, "scans": 2, "size": 90, "pool": "rare"},
        "held-out-large": {**COMPOSED, "scans": 3, "size": 120, "pool": "rare"},
        "lessons": {**COMPOSED, "size": 90, "functions": 4, "turns": 32},
        "coder-and-judge": {**COMPOSED, "size": 90, "num_players": 2, "turns": 12},
    },
)
@dataclass(frozen=True)
class FastCode(Talking, TaskGame[SpeedState]):
    """One player makes a slow Python function fast; executed lines are counted.

    There are no numbered actions. The reward is the mean of 1 - 1 / speed-up on hidden
    arguments, of programs that also end in time on a large one.
    """

    num_players: Annotated[
        int, Meta(ge=1, le=2, description="1: a coder; 2: and a judge of performance")
    ] = 1
    kernel: Annotated[
        NAMES | Literal["any", "composed"],
        Meta(
            description="the function; any: one of the eight, drawn from the seed; composed: "
            "composed of steps"
        ),
    ] = "any"
    scans: Annotated[
        int, Meta(ge=1, le=3, description="scans of a composed function, before its total")
    ] = 2
    pool: Annotated[
        Pool,
        Meta(
            description="the scans and totals of a composed function; 'rare' has none of 'common'"
        ),
    ] = "common"
    functions: Annotated[
        int, Meta(ge=1, le=8, description="functions one after another, with lessons kept")
    ] = 1
    size: Annotated[int, Meta(ge=16, le=200, description="size of the arguments")] = 24
    turns: Turns = 6

    runs_programs = True
    shown_past = 1
    rules_text = """
        You make a Python function faster without changing what it returns.

        Hand in a whole program that defines solve with the same argument, in a fenced block that
        begins with ```python, or with Program(code='…'). It may import bisect, collections,
        functools, heapq, itertools, json, math, re and statistics; names must not begin with an
        underscore. A program that returns anything else than the slow one does not count. Speed is
        the number of lines executed, so that it is the same on every machine: a loop over n things
        costs at least n lines. Built-in functions do not make a program fast that does as much work
        as the slow one: it also has to end within two seconds of processor time on an argument that
        is hundreds or thousands of times as large.

        You read whether the program is right and how much faster it is. Finish() ends the work. You
        are paid 1 - 1 / speed-up of your best right program, measured on other arguments, and at
        most what the best program that is known here would be paid.
    """
    payoffs = "common"
    action_types = (Program, Keep, Finish, Advise)

    def rules_for(self, seat: int) -> str:
        if seat == JUDGE:
            return (
                "You judge the performance of programs. A coder makes slow Python functions faster "
                "without changing what they return; speed is the number of lines executed. You "
                "read every program, whether it is right, and how many lines it executes by the "
                "size of its argument, which the coder does not read. Answer with "
                "Advise(advice='…', lesson='…'): advice on this program, and a lesson to keep for "
                "later programs and functions, or ''. You are paid what the coder is paid: 1 - 1 / "
                "speed-up of the best right program, the mean over functions."
            )
        more = []
        if self.functions > 1:
            more.append(
                f"There are {self.functions} functions: Finish() ends the work on one and begins "
                "the next, and you are paid the mean."
            )
        if self.num_players == 1 and self.functions > 1:
            more.append("Keep(lesson='…') keeps a lesson, which you read from then on.")
        elif self.num_players == 2:
            more.append(
                "A judge of performance answers every program with advice, and with a lesson that "
                "you read from then on."
            )
        return " ".join([super().rules_for(seat), *more])

    def validate(self) -> None:
        require_sandbox()
        if self.functions > 1 and self.kernel in KERNELS:
            raise InvalidOption(
                f"functions={self.functions} draws several functions, but kernel={self.kernel!r} "
                "is one; use kernel='any', kernel='composed' or functions=1"
            )
        if self.kernel != "composed" and (self.scans, self.pool) != (2, "common"):
            raise InvalidOption(
                f"scans={self.scans} and pool={self.pool!r} say how functions are composed, which "
                f"kernel={self.kernel!r} does not do; add kernel='composed' or leave them out"
            )

    def initial_state(self, seed: int | None = None) -> SpeedState:
        rng = Rng.seeded(check_seed(seed))
        name = self._drawn(rng)
        state = SpeedState(rng=rng, kernel=name, seed=rng.word(), hidden=rng.word())
        state.coming = self._others(rng, [name])
        return state

    def _drawn(self, rng: Rng) -> str:
        """The name of the first function."""
        if self.kernel == "composed":
            return draw_name(rng, self.scans, self.pool)
        drawn = rng.choice(sorted(KERNELS))
        return drawn if self.kernel == "any" else self.kernel

    def _others(self, rng: Rng, known: list[str]) -> tuple[str, ...]:
        """Functions that come after those known, so that there are `functions` of them."""
        if self.kernel == "composed":
            left = range(self.functions - len(known))
            return tuple(draw_name(rng, self.scans, self.pool) for _ in left)
        others = [name for name in sorted(KERNELS) if name not in known]
        if self.functions > len(known):
            rng.shuffle(others)
        return tuple(others[: self.functions - len(known)])

    def acting(self, state: SpeedState) -> int:
        return JUDGE if state.judged else CODER

    def statement(self, state: SpeedState, seat: int) -> str:
        kernel = kernel_of(state.kernel)
        return f"{kernel.task}\nThe slow program:\n```python\n{kernel.slow.strip()}\n```"

    def notes(self, state: SpeedState, seat: int) -> tuple[str, ...]:
        lines = [self._best_note(state)]
        if self.functions > 1:
            number = min(len(state.works) + 1, self.functions)
            lines.insert(0, f"Function {number} of {self.functions}.")
        lines += [f"Lesson {n + 1}: {self.quoted(said)}" for n, said in enumerate(state.lessons)]
        if seat == JUDGE and state.judged:
            lines.append(f"The program to judge: {self.quoted(state.judged)}")
            slow = kernel_of(state.kernel).slow
            lines.append(f"The slow program executes {self._told(state, slow)}.")
            lines.append(f"This program executes {self._told(state, state.judged)}.")
        return tuple(lines)

    def noted(self, state: SpeedState, seat: int | None) -> tuple[str, ...]:
        """Without the best speed-up, which is in the chart."""
        best = self._best_note(state)
        return tuple(line for line in super().noted(state, seat) if line != best)

    @staticmethod
    def _best_note(state: SpeedState) -> str:
        return f"Best speed-up so far: {state.best[0]:.2f}."

    def _told(self, state: SpeedState, code: str) -> str:
        """How many lines a program executes by size, and how fast they grow."""
        measured = measure(code, state.kernel, self.size)  # not the arguments that are hidden
        counts = [f"{lines} lines at size {size}" for size, lines in measured]
        rate = growth(measured)
        grows = "" if rate is None else f", so that they grow as size to the power {rate:.1f}"
        return ", ".join(counts) + grows

    def options(self, state: SpeedState, seat: int) -> tuple[Option, ...]:
        kernel = kernel_of(state.kernel)
        if seat == JUDGE:
            words = {
                "advice": Text(600, ("Count each value once.", "It is right.")),
                "lesson": Text(300, ("", "Use a dictionary.")),
            }
            return (Option(Advise, words),)
        samples = (kernel.slow, "def solve(argument):\n    return 0\n")
        program = Option(Program, {"code": Text(LONGEST_PROGRAM, samples)})
        if self.num_players > 1 or self.functions == 1:
            return (program, FINISH)
        return (program, Option(Keep, {"lesson": Text(300, ("Use a dictionary.",))}), FINISH)

    def speed_up(self, name: str, code: str, seed: int) -> tuple[float, str]:
        """The ratio of lines, and why the program does not count; empty if it does."""
        wrong = difference(code, name, self.size, seed, COMPARED)
        if wrong:
            return 0.0, f"Not right: {disarm(wrong)}"  # the judge reads it too
        slow = lines_of(kernel_of(name).slow, name, self.size, seed)
        ratio = slow / max(lines_of(code, name, self.size, seed), 1)
        if ratio > 1 and not is_quick(code, name, seed):
            return 0.0, (
                f"Right, but it does not return the right value in {LARGE.cpu} seconds of "
                "processor time on a large argument, so that it does not count."
            )
        return min(ratio, self.expert(name, seed)), ""

    def expert(self, name: str, seed: int) -> float:
        """The speed-up of the better program that is known for a function."""
        kernel = kernel_of(name)
        slow = lines_of(kernel.slow, name, self.size, seed)
        return slow / lines_of(kernel.better, name, self.size, seed)

    def respond(self, state: SpeedState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            return self._next(state)
        if isinstance(action, Keep):
            self._learn(state, action.lesson)
            return Reply(f"Kept: {self.quoted(action.lesson)}", kind="lesson")
        if isinstance(action, Advise):
            state.judged = ""
            self._learn(state, action.lesson)
            lesson = f" Lesson: {self.quoted(action.lesson)}" if action.lesson else ""
            said = f"The judge advises: {self.quoted(action.advice)}{lesson}"
            return Reply(said, {"said": action.advice, "lesson": action.lesson}, kind="message")
        ratio, wrong = self.speed_up(state.kernel, action.code, state.seed)
        state.curve = (*state.curve, ratio)
        if ratio > state.best[0]:
            state.best = (ratio, action.code)
        state.judged = action.code if self.num_players > 1 else ""
        text = wrong or f"Right, with a speed-up of {ratio:.2f}."
        return Reply(text, {"right": not wrong, "speed_up": ratio})

    def _learn(self, state: SpeedState, lesson: str) -> None:
        if lesson:
            state.lessons = (*state.lessons, lesson)[-MOST_LESSONS:]

    def _next(self, state: SpeedState) -> Reply:
        """End the work on a function; the next one begins, if there is one."""
        state.works = (*state.works, Work(state.kernel, state.best[1]))
        if not state.coming:
            state.closed = True
            return Reply("The work is over.", kind="finish")
        state.kernel, state.coming = state.coming[0], state.coming[1:]
        state.best, state.curve = (1.0, ""), ()
        return Reply(f"The next function. {kernel_of(state.kernel).task}")

    def settle(self, state: SpeedState) -> Final:
        if not state.closed:
            state.works = (*state.works, Work(state.kernel, state.best[1]))
        ratios, reasons, reached = [], [], 0
        for work in state.works:
            ratio, wrong = 1.0, "No faster program was right."
            if work.code:
                ratio, wrong = self.speed_up(work.kernel, work.code, state.hidden)
                wrong = f"On hidden arguments: {wrong}" if wrong else ""
            ratios.append(ratio)
            reached += ratio >= NEAR * self.expert(work.kernel, state.hidden)
            reasons.append(wrong or f"Speed-up {ratio:.2f}.")
        gains = [1 - 1 / ratio if ratio > 1 else 0.0 for ratio in ratios]
        score = sum(gains) / self.functions
        mean = sum(ratios) / len(ratios)
        facts = {
            "speed_up": mean,
            "gains": gains,
            "lessons": len(state.lessons),
            "expert_share": reached / self.functions,
        }
        return shared_end(score, self.num_players, " ".join(reasons), facts)

    def determinize(self, state: SpeedState, seat: int, rng: Rng) -> SpeedState:
        """Draw other arguments and other functions to come."""
        copy = self.copy_for(state, seat)
        copy.seed, copy.hidden = rng.word(), rng.word()
        copy.coming = self._others(rng, [*(w.kernel for w in state.works), state.kernel])
        return copy

    def picture(self, state: SpeedState, seat: int | None) -> tuple[Part, ...]:
        """The speed-up of every program, and how many lines grow with the argument.

        A coder does not read the latter.
        """
        if seat == CODER:
            tried = [(ratio, ratio > 0) for ratio in state.curve]
            level = ("slow program", 1.0)
            return (tries_chart(tried, max(2, self.turns), "speed-up", level, what="program"),)
        if not state.curve:
            return (self._growth_chart(state),)
        top = max(1.5, *state.curve)
        first = max(0, len(state.curve) - 5)
        bars = [Bar("slow program", 1.0, top, "red")]
        bars += [
            Bar(f"program {n}", ratio, top, "green" if ratio == state.best[0] else 0)
            for n, ratio in enumerate(state.curve[first:], first + 1)
        ]
        return Bars(tuple(bars)), self._growth_chart(state)

    def _growth_chart(self, state: SpeedState) -> Chart:
        """How many lines the slow program and the best one execute, by size."""
        slow = kernel_of(state.kernel).slow
        codes = [("slow program", slow, "red")]
        if state.best[1]:
            codes.append(("best program", state.best[1], "green"))
        series = (
            Series(name, tuple((float(n), float(lines)) for n, lines in found), "line", colour)
            for name, code, colour in codes
            for found in [sorted(measure(code, state.kernel, self.size))]
        )
        return Chart(tuple(series), "lines executed", "size of the argument")


@agent("fastcode-expert", kind="scripted")
class Expert(ScriptedAgent[FastCode]):
    """Hands in the better program that is known for each function; as the judge it has no advice.

    It finishes a function as soon as its program was answered.
    """

    def choose(self, turn: Turn[FastCode]) -> Any:
        if turn.seat == JUDGE:
            return Advise("It is as fast as I know.", "")
        position = turn.position
        if "Best speed-up so far: 1.00." not in position:
            return Finish()
        for kernel in KERNELS.values():
            if position.startswith(kernel.task):
                return Program(kernel.better)
        return Program(kernel_of(read_name(position)).better)


class OneTrick(ScriptedAgent[FastCode]):
    """Makes the steps of a composed function fast that a trick suits, and leaves the others.

    It finishes a function after one program, and at once if it is one of the eight named ones.
    """

    tricks: ClassVar[tuple[str, ...]]

    def choose(self, turn: Turn[FastCode]) -> Any:
        if turn.seat == JUDGE:
            return Advise("", "")
        name = read_name(turn.position)
        last = turn.transcript[-1].data if turn.transcript else {}
        if not name or "right" in last or "said" in last:
            return Finish()
        return Program(program(name, lambda step: step.technique in self.tricks))


@agent("fastcode-hashing", kind="scripted")
class Hashing(OneTrick):
    """Makes the steps fast that a dictionary makes fast."""

    tricks = ("hashing",)


@agent("fastcode-textbook", kind="scripted")
class Textbook(OneTrick):
    """Makes the steps fast that a dictionary, sorting or prefix sums make fast."""

    tricks = ("hashing", "sorting", "sums")
