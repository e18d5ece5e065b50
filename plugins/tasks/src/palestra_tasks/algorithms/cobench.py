"""CO-Bench: write an algorithm for a combinatorial problem; it runs on instances nobody has seen.

In each turn the player hands in a program with a function `solve(instance)`. It runs in the sandbox
on a few development instances, and the player reads the score of each or why there is none. The
best program of the episode, by its development score, then runs on hidden test instances, and its
mean score is the reward. A score is the ratio of the answer's value and the optimum, at most 1; a
program that fails, is stopped or returns an infeasible answer scores 0 on that instance, unless it
passed a feasible answer to `report(answer)` before.

After Sun, Feng, Ye, Chan, Yang et al., "CO-Bench: Benchmarking Language Model Agents in Algorithm
Search for Combinatorial Optimization", 2025, which has 36 problems with curated data. Here 15
problems have generators, and scores divide by optima that HiGHS or a dynamic programme proves, at
the end of an episode and not at its start. Time is counted in executed lines, so that a program
ends at the same line on every machine; work that a line leaves to a built-in function is bounded by
a second of processor time, one more for each million lines.

Checked: optima of published instances and closed forms; see the tests of the problems.

Left out: the paper's curated instances, and 21 of its 36 problems.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal

from palestra import Meta, Option, Rng, Text, environment
from palestra.kernel.rng import check_seed
from palestra.sandbox import Limits
from palestra.scene import Part

from palestra_tasks.combinatorial import problems
from palestra_tasks.combinatorial.drawing import draw_instance
from palestra_tasks.combinatorial.problem import PROBLEMS, Infeasible, Instance, problem, score
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
from palestra_tasks.pictures import tries_chart
from palestra_tasks.running import LONGEST_PROGRAM, Run, require_sandbox, run

__all__ = ["COBench", "problems"]  # importing the latter registers them

LEVELS = ("small", "medium")
SAMPLES = (  # no problem pays for these
    "def solve(instance):\n    return []\n",
    "def solve(instance):\n    return None\n",
)
SHOWN_INSTANCE = 1500  # characters of the instance in the statement
ProblemName = Literal[
    "assignment",
    "bin-packing",
    "cvrp",
    "facility-location",
    "flow-shop",
    "graph-colouring",
    "independent-set",
    "job-shop",
    "knapsack",
    "max-cut",
    "p-median",
    "set-cover",
    "steiner-tree",
    "tardiness",
    "tsp",
]


@lru_cache(maxsize=1024)
def instance_of(name: str, size: int, seed: int, stream: int, number: int) -> Instance:
    """Instance `number` of a problem; nobody changes it."""
    return problem(name).draw(Rng.seeded(seed, 1000 * stream + number + 1), size)


@lru_cache(maxsize=1024)
def optimum_of(name: str, size: int, seed: int, stream: int, number: int) -> float:
    return problem(name).optimum(instance_of(name, size, seed, stream, number))


@dataclass(frozen=True, slots=True)
class InstanceScore:
    """The score of a program on one instance; `why` is empty where it has an answer."""

    score: float
    value: float | None = None
    why: str = ""
    answer: Any = None  # the feasible one that was scored


def score_run(name: str, instance: Instance, optimum: float, ran: Run) -> InstanceScore:
    """The score of what a program returned, or else of what it reported last."""
    kind, why = problem(name), ran.error
    for answer in (ran.value, ran.reported):
        if answer is None:
            continue
        try:
            value = kind.value(instance, answer)
        except Infeasible as error:
            why = why or f"infeasible: {error}"
            continue
        return InstanceScore(score(kind, optimum, value), value, ran.error, answer)
    return InstanceScore(0.0, None, why or "it returned nothing")


@dataclass(slots=True, kw_only=True)
class SearchState(TaskState):
    """The state of a search for an algorithm."""

    problem: str
    first: int  # seed of development instance 0, which the player reads
    seed: int  # of the other development instances; equal to `first`, except in a fork
    hidden: int  # of the test instances
    best: tuple[float, str] = (-1.0, "")  # development score and program
    curve: tuple[float, ...] = ()  # the development score of every program


@environment(
    "tasks/COBench-v0",
    family="text",
    tags=("programs", "optimisation", "hidden-information"),
    paper=(
        "Sun et al. (2025), CO-Bench: Benchmarking Language Model Agents in Algorithm Search for "
        "Combinatorial Optimization"
    ),
    splits={"small": {"level": "small"}, "medium": {"level": "medium"}},
)
@dataclass(frozen=True)
class COBench(TaskGame[SearchState]):
    """One player writes programs for a combinatorial problem; the best is tested on new instances.

    There are no numbered actions. The reward is the mean test score, 0 to 1, at the end.
    """

    problem: Annotated[
        ProblemName | Literal["any"], Meta(description="the problem; any: drawn from the seed")
    ] = "any"
    level: Annotated[Literal["small", "medium"], Meta(description="size of the instances")] = (
        "small"
    )
    development: Annotated[int, Meta(ge=1, le=20, description="instances with feedback")] = 3
    tests: Annotated[int, Meta(ge=1, le=50, description="hidden instances that are scored")] = 5
    turns: Turns = 8
    lines: Annotated[
        int,
        Meta(ge=1000, le=5_000_000, description="lines a program may execute on one instance"),
    ] = 200_000

    runs_programs = True
    shown_past = 1
    rules_text = """
        You write an algorithm for a problem of combinatorial optimisation.

        Hand in a Python program with a function solve(instance) that returns an answer. End your
        turn with the program in a fenced block that begins with ```python, or with
        Program(code='…'). It may import bisect, collections, functools, heapq, itertools, json,
        math, re and statistics; names must not begin with an underscore. There are no files, no
        clock and no random numbers. The lines that it executes and its processor time are limited;
        report(answer) may be called up to 100 times with the best answer so far, which counts if
        the program is stopped.

        You read its score on the development instances: the ratio of the answer's value and the
        optimum, 1 at best, 0 if the answer is infeasible. Improve the program, or write Finish().
        Your best program is then run on hidden instances of the same kind, and you are paid its
        mean score.
    """
    action_types = (Program, Finish)

    def validate(self) -> None:
        require_sandbox()

    @property
    def size(self) -> dict[str, int]:
        """The size of an instance, by problem."""
        return {name: p.sizes[LEVELS.index(self.level)] for name, p in PROBLEMS.items()}

    @property
    def limits(self) -> Limits:
        return Limits(lines=self.lines, cpu=1 + self.lines // 1_000_000, seconds=15.0)

    def initial_state(self, seed: int | None = None) -> SearchState:
        rng = Rng.seeded(check_seed(seed))
        drawn = rng.choice(sorted(PROBLEMS))
        name = drawn if self.problem == "any" else self.problem
        seed, hidden = rng.word(), rng.word()
        return SearchState(rng=rng, problem=name, first=seed, seed=seed, hidden=hidden)

    def example(self, state: SearchState) -> Instance:
        """The first development instance, which the player reads."""
        return instance_of(state.problem, self.size[state.problem], state.first, 0, 0)

    def statement(self, state: SearchState, seat: int) -> str:
        shown = json.dumps(self.example(state))
        if len(shown) > SHOWN_INSTANCE:
            shown = f"{shown[:SHOWN_INSTANCE]}…"
        limits = self.limits
        return (
            f"{problem(state.problem).statement}\n"
            f"On each instance a program may execute {limits.lines} lines, and take {limits.cpu} s "
            f"of processor time.\nDevelopment instance 0: {shown}"
        )

    def told(self, state: SearchState, seat: int) -> str:
        """Without the instance, which is drawn."""
        return problem(state.problem).statement

    def notes(self, state: SearchState, seat: int) -> tuple[str, ...]:
        if not state.curve:
            return ("No program yet.",)
        return (f"Best development score so far: {max(state.best[0], 0.0):.4f}.",)

    def noted(self, state: SearchState, seat: int | None) -> tuple[str, ...]:
        return ()  # the best score is in the chart

    def options(self, state: SearchState, seat: int) -> tuple[Option, ...]:
        code = Text(LONGEST_PROGRAM, SAMPLES)
        return (Option(Program, {"code": code}), FINISH)

    def score_program(
        self, state: SearchState, code: str, *, stream: int, seeds: Sequence[int]
    ) -> list[InstanceScore]:
        """A program on an instance for each seed; equal programs are run once.

        After an instance on which it takes too long it is not run on the others.
        """
        name = state.problem
        size, scored, ran = self.size[name], list[InstanceScore](), Run()
        for number, seed in enumerate(seeds):
            if ran.too_long:
                scored.append(InstanceScore(0.0, None, "not run: it took too long before"))
                continue
            instance = instance_of(name, size, seed, stream, number)
            ran = run(code, "solve", instance, limits=self.limits)
            optimum = optimum_of(name, size, seed, stream, number)
            scored.append(score_run(name, instance, optimum, ran))
        return scored

    def respond(self, state: SearchState, seat: int, action: Any) -> Reply:
        if isinstance(action, Finish):
            state.closed = True
            return Reply("The search is over.", kind="finish")
        seeds = (state.first, *(state.seed,) * (self.development - 1))
        scored = self.score_program(state, action.code, stream=0, seeds=seeds)
        mean = sum(one.score for one in scored) / len(scored)
        state.curve = (*state.curve, mean)
        if mean > state.best[0]:
            state.best = (mean, action.code)
        lines = [f"Development score {mean:.4f}."]
        for number, one in enumerate(scored):
            value = "" if one.value is None else f", value {one.value:g}"
            why = f" ({one.why})" if one.why else ""
            lines.append(f"Instance {number}: score {one.score:.4f}{value}{why}")
        facts = {"scores": [one.score for one in scored], "failures": [one.why for one in scored]}
        return Reply("\n".join(lines), facts)

    def settle(self, state: SearchState) -> Final:
        if state.best[0] < 0:
            return solo(0.0, "No program was handed in.", tests=[])
        seeds = (state.hidden,) * self.tests
        scored = self.score_program(state, state.best[1], stream=1, seeds=seeds)
        mean = sum(one.score for one in scored) / len(scored)
        valid = sum(one.value is not None for one in scored) / len(scored)
        optimal = sum(one.score == 1.0 for one in scored) / len(scored)
        reason = f"Mean score {mean:.4f} on {len(scored)} hidden instances."
        return solo(mean, reason, tests=[s.score for s in scored], valid=valid, optimal=optimal)

    def record_facts(self, state: SearchState) -> dict[str, Any]:
        return {"progress": max(0.0, state.best[0])}

    def determinize(self, state: SearchState, seat: int, rng: Rng) -> SearchState:
        """Draw other test instances, and other development instances but the one that is shown."""
        copy = self.copy_for(state, seat)
        copy.seed, copy.hidden = rng.word(), rng.word()
        return copy

    def picture(self, state: SearchState, seat: int | None) -> tuple[Part, ...]:
        """The first development instance with the best program's answer, and all scores."""
        name, instance = state.problem, self.example(state)
        answer = None
        if state.best[0] > 0:
            seeds = (state.first,)
            answer = self.score_program(state, state.best[1], stream=0, seeds=seeds)[0].answer
        drawn = draw_instance(name, instance, answer)
        if not state.curve:
            return drawn
        tried = [(score, score > 0) for score in state.curve]
        chart = tries_chart(tried, self.turns, "score", ("optimum", 1.0), what="program")
        return (*drawn, chart)
