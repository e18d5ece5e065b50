"""MARCO: make a slow program fast, with a judge of performance who says where it stands.

The player reads a correct and slow Python function and hands in faster ones. Each is first compared
with the slow one on three random arguments, then measured: the number of lines that it executes.
The best correct program is measured again on hidden arguments at the end; the reward is 1 - 1 /
speed-up, where the speed-up is the ratio of lines, at least 1. A run may take two seconds of
processor time, so that no program holds the host for more than a dozen.

After "MARCO: Multi-Agent Code Optimization with Real-Time Knowledge Integration for
High-Performance Computing", 2025, whose coder and performance judge time programs on a machine.
Lines are counted in place of time, because a record must replay exactly on every machine; a line
that does much in C counts as one, as an operation of a vector library would.

Checked: the better program of every kernel is correct and faster; a wrong program is never paid.

Left out: time on a real machine, compilers, and search of the web for techniques.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from palestra import Meta, Option, Rng, ScriptedAgent, Text, Turn, agent, environment
from palestra.kernel.rng import check_seed
from palestra.sandbox import Limits
from palestra.scene import Bar, Bars, Part

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
    solo,
)
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
COMPARED = 3  # arguments on which a program must return what the slow one does


@lru_cache(maxsize=512)
def argument_of(name: str, size: int, seed: int, number: int) -> Any:
    """An argument of a kernel; nobody changes it."""
    return KERNELS[name].draw(Rng.seeded(seed, number + 1), size)


def difference(code: str, name: str, size: int, seed: int, count: int) -> str:
    """Why a program is wrong on one of some arguments; empty if it is right on all."""
    for number in range(count):
        # small arguments too, where slips at the ends show
        argument = argument_of(name, max(16, size >> number), seed, number)
        wanted = run(KERNELS[name].slow, "solve", argument, limits=LIMITS)
        found = run(code, "solve", argument, limits=LIMITS)
        if found.error:
            return found.error
        if found.value != wanted.value:
            return f"on argument {number} it returned {found.value!r:.80}, not {wanted.value!r:.80}"
    return ""


def lines_of(code: str, name: str, size: int, seed: int) -> int:
    """How many lines a right program executes on the first argument, its definitions included."""
    argument = argument_of(name, size, seed, 0)
    return run(code, "solve", argument, limits=LIMITS).lines


@dataclass(slots=True, kw_only=True)
class SpeedState(TaskState):
    """The state of an optimisation of a program."""

    kernel: str
    seed: int  # of the arguments with feedback
    hidden: int  # of the arguments that count
    best: tuple[float, str] = (1.0, "")  # speed-up and program
    curve: tuple[float, ...] = ()


@environment(
    "tasks/FastCode-v0",
    family="text",
    tags=("programs", "optimisation", "hidden-information"),
    paper=(
        "MARCO: Multi-Agent Code Optimization with Real-Time Knowledge Integration for "
        "High-Performance Computing (2025)"
    ),
    splits={"small": {"size": 24}, "large": {"size": 80}},
)
@dataclass(frozen=True)
class FastCode(TaskGame[SpeedState]):
    """One player makes a slow Python function fast; executed lines are counted.

    There are no numbered actions. The reward is 1 - 1 / speed-up on hidden arguments.
    """

    kernel: Annotated[
        NAMES | Literal["any"], Meta(description="the function; any: drawn from the seed")
    ] = "any"
    size: Annotated[int, Meta(ge=16, le=200, description="size of the arguments")] = 24
    turns: Turns = 6

    rules_text = """
        You make a Python function faster without changing what it returns.

        Hand in a whole program that defines solve with the same argument, in a fenced block that
        begins with ```python, or with Program(code='…'). It may import bisect, collections,
        functools, heapq, itertools, json, math, re and statistics; names must not begin with an
        underscore. A program that returns anything else than the slow one does not count. Speed is
        the number of lines executed, so that it is the same on every machine: a loop over n things
        costs at least n lines, a call of a built-in function one.

        You read whether the program is right and how much faster it is. Finish() ends the work. You
        are paid 1 - 1 / speed-up of your best right program, measured on other arguments.
    """
    action_types = (Program, Finish)

    def validate(self) -> None:
        require_sandbox()

    def initial_state(self, seed: int | None = None) -> SpeedState:
        rng = Rng.seeded(check_seed(seed))
        drawn = rng.choice(sorted(KERNELS))
        name = drawn if self.kernel == "any" else self.kernel
        return SpeedState(rng=rng, kernel=name, seed=rng.word(), hidden=rng.word())

    def statement(self, state: SpeedState, seat: int) -> str:
        kernel = KERNELS[state.kernel]
        return f"{kernel.task}\nThe slow program:\n```python\n{kernel.slow.strip()}\n```"

    def notes(self, state: SpeedState, seat: int) -> tuple[str, ...]:
        return (f"Best speed-up so far: {state.best[0]:.2f}.",)

    def options(self, state: SpeedState, seat: int) -> tuple[Option, ...]:
        kernel = KERNELS[state.kernel]
        samples = (kernel.slow, "def solve(argument):\n    return 0\n")
        return (Option(Program, {"code": Text(LONGEST_PROGRAM, samples)}), FINISH)

    def speed_up(self, state: SpeedState, code: str, seed: int) -> tuple[float, str]:
        """The ratio of lines, and why the program does not count; empty if it does."""
        name = state.kernel
        wrong = difference(code, name, self.size, seed, COMPARED)
        if wrong:
            return 0.0, wrong
        slow = lines_of(KERNELS[name].slow, name, self.size, seed)
        return slow / lines_of(code, name, self.size, seed), ""

    def respond(self, state: SpeedState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            state.closed = True
            return Reply("The work is over.", kind="finish")
        ratio, wrong = self.speed_up(state, action.code, state.seed)
        state.curve = (*state.curve, ratio)
        if ratio > state.best[0]:
            state.best = (ratio, action.code)
        text = f"Not right: {wrong}" if wrong else f"Right, with a speed-up of {ratio:.2f}."
        return Reply(text, {"right": not wrong, "speed_up": ratio})

    def settle(self, state: SpeedState) -> Final:
        if not state.best[1]:
            return solo(0.0, "No faster program was right.", speed_up=1.0)
        ratio, wrong = self.speed_up(state, state.best[1], state.hidden)
        score = max(0.0, 1 - 1 / ratio) if ratio else 0.0
        reason = f"Not right on hidden arguments: {wrong}" if wrong else f"Speed-up {ratio:.2f}."
        return solo(score, reason, speed_up=ratio)

    def determinize(self, state: SpeedState, seat: int, rng: Rng) -> SpeedState:
        """Draw other arguments, those with feedback too: the player reads none of them."""
        copy = self.clone(state)
        copy.seed, copy.hidden = rng.word(), rng.word()
        return copy

    def picture(self, state: SpeedState, seat: int | None) -> tuple[Part, ...]:
        top = max(state.curve, default=1.0) or 1.0
        bars = tuple(Bar(f"program {n + 1}", s, top, 0) for n, s in enumerate(state.curve[-8:]))
        return (Bars(bars),) if bars else ()


@agent("fastcode-expert", kind="scripted")
class Expert(ScriptedAgent[FastCode]):
    """Hands in the better program that is known for each function."""

    def choose(self, turn: Turn[FastCode]) -> Any:
        if any("right" in event.data for event in turn.transcript):
            return Finish()
        position = turn.position
        return next(Program(k.better) for k in KERNELS.values() if position.startswith(k.task))
