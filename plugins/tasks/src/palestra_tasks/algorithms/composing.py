"""Functions composed of steps: drawn, written as programs, and read from their task.

A composition is named by its steps and their numbers, as in
'thirds:2/remainder:3/earlier-equal-count:7/square:2/stretch-light-count:5', so that a state holds a
text and the programs follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, Literal

from palestra import Rng

from palestra_tasks.algorithms.kernels import KERNELS, Kernel
from palestra_tasks.algorithms.steps import FILTERS, MAPS, SCANS, STEPS, TOTALS, Step

Pool = Literal["common", "rare"]
LARGE_LENGTH = 80_000
SAMPLED = 48
VALUES = (0, 1_000_000)
IMPORTS = """
from bisect import bisect_left, bisect_right, insort
from collections import Counter, deque
from itertools import accumulate
"""
FIRST = (
    "solve(numbers) works in steps on a list of values, at first the numbers. Places count from 0; "
    "n is the number of values when a step begins."
)
Numbered = tuple[Step, int]


def draw_name(rng: Rng, scans: int, pool: Pool) -> str:
    """The name of a composition whose result depends on its argument."""
    while True:
        name = _draw_steps(rng, scans, pool)
        if varies(name):
            return name


def _draw_steps(rng: Rng, scans: int, pool: Pool) -> str:
    """A filter or none, some scans, a map before each of them and before the total.

    The pool `common` has none of the rare steps; `rare` has no scan and no total of `common`.
    """
    drawn = [rng.choice(_of(FILTERS, pool))] if rng.below(3) else []
    known: set[str] = set()
    for _ in range(scans):
        scan = rng.choice([step for step in _of(SCANS, pool) if step.name not in known])
        known.add(scan.name)
        drawn += [rng.choice(_of(MAPS, pool)), scan]
    drawn += [rng.choice(_of(MAPS, pool)), rng.choice(_of(TOTALS, pool))]
    return "/".join(f"{step.name}:{rng.between(2, 9)}" for step in drawn)


def varies(name: str) -> bool:
    """Whether three arguments of one length have three results, by the better program."""
    names: dict[str, Any] = {}
    exec(program(name, lambda step: True), names)  # lines of ours, with numbers of ours
    samples = (draw_numbers(Rng.seeded(seed), SAMPLED) for seed in range(3))
    return len({names["solve"](sample) for sample in samples}) == 3


@cache
def _of(steps: tuple[Step, ...], pool: Pool) -> tuple[Step, ...]:
    """The steps that a pool has of some of one kind."""
    return tuple(
        step
        for step in steps
        if step.rare == (pool == "rare") or (pool == "rare" and not step.technique)
    )


def steps_of(name: str) -> tuple[Numbered, ...]:
    """The steps of a composition with their numbers."""
    pairs = (part.split(":") for part in name.split("/"))
    return tuple((STEPS[step], int(number)) for step, number in pairs)


def structure_of(name: str) -> tuple[str, ...]:
    """The steps of a composition without their numbers."""
    return tuple(step.name for step, _ in steps_of(name))


def program(name: str, is_better: Callable[[Step], bool]) -> str:
    """A program of a composition with the better lines of some steps and the slow ones of others.

    It imports what some better step may need.
    """
    parts = [step.lines(k, better=is_better(step)) for step, k in steps_of(name)]
    better = any(step.technique and is_better(step) for step, _ in steps_of(name))
    body = "\n".join(("values = numbers[:]", *parts, "return answer"))
    head = IMPORTS if better else "\n"
    return f"{head}def solve(numbers):\n    {body.replace(chr(10), chr(10) + '    ')}\n"


def task_of(steps: Iterable[Numbered]) -> str:
    """What a composition does, one step a line."""
    said = (step.says.replace("$k", str(k)) for step, k in steps)
    return "\n".join([FIRST, *(f"{n}. {line}" for n, line in enumerate(said, 1))])


def read_name(task: str) -> str:
    """The name of the composition that a task describes."""
    found = []
    for line in re.findall(r"^\d+\. (.*)$", task, re.MULTILINE):
        step, number = next(
            (step.name, match.groupdict().get("k") or "0")
            for step, form in _forms()
            if (match := form.fullmatch(line))
        )
        found.append(f"{step}:{number}")
    return "/".join(found)


@cache
def _forms() -> tuple[tuple[Step, re.Pattern[str]], ...]:
    """How each step is written."""
    return tuple(
        (step, re.compile(re.escape(step.says).replace(r"\$k", r"(?P<k>\d+)")))
        for step in STEPS.values()
    )


def draw_numbers(rng: Rng, length: int) -> Any:
    return [rng.between(*VALUES) for _ in range(length)]


@lru_cache(maxsize=512)
def kernel_of(name: str) -> Kernel:
    """One of the eight kernels, or a composition."""
    if name in KERNELS:
        return KERNELS[name]
    return Kernel(
        name,
        task_of(steps_of(name)),
        program(name, lambda step: False),
        program(name, lambda step: True),
        draw_numbers,
        lambda rng: draw_numbers(rng, LARGE_LENGTH),
    )
