"""What a combinatorial problem is: instances, a verifier, an optimum, a bound and a heuristic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from palestra import InvalidOption, PalestraError, Rng, UnknownName

from palestra_tasks.combinatorial.linear import Linear

Instance = Mapping[str, Any]  # what JSON can hold


class Infeasible(PalestraError):
    """An answer that breaks a constraint; the message names it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of problem.

    `draw(rng, size)` makes an instance, `value(instance, answer)` verifies an answer and returns
    its objective value or raises `Infeasible`, `optimum(instance)` is exact on the sizes used
    here, `bound(instance)` is a bound that no answer beats. `greedy` is a program with a function
    solve(instance); `trivial` one whose answers are feasible and poor.
    """

    name: str
    sense: Literal["min", "max"]
    statement: str
    draw: Callable[[Rng, int], Instance]
    value: Callable[[Instance, Any], float]
    optimum: Callable[[Instance], float]
    bound: Callable[[Instance], float]
    greedy: str
    trivial: str
    sizes: tuple[int, int]  # of level "small" and of level "medium"


PROBLEMS: dict[str, Problem] = {}


def register(problem: Problem) -> Problem:
    """Add a problem to the list of this package."""
    PROBLEMS[problem.name] = problem
    return problem


def problem(name: str) -> Problem:
    """A problem by name."""
    if name not in PROBLEMS:
        raise UnknownName("problem", name, PROBLEMS)
    return PROBLEMS[name]


def score(problem: Problem, reference: float, value: float) -> float:
    """CO-Bench's score: the ratio of reference and value, 1 for the reference, never above it."""
    better, worse = (reference, value) if problem.sense == "min" else (value, reference)
    if worse == better:
        return 1.0
    return max(0.0, min(1.0, better / worse)) if worse > 0 else 0.0


# Reading answers


def whole(value: Any, low: int, high: int, what: str) -> int:
    """A whole number in [low, high]; raises `Infeasible` with its name."""
    if type(value) is float and math.isfinite(value) and value == int(value):
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise Infeasible(f"{what} must be a whole number from {low} to {high}, not {value!r:.60}")
    return value


def check_list(answer: Any, what: str, length: int | None = None) -> list[Any]:
    """A list; raises `Infeasible` for anything else, or for another length."""
    if not isinstance(answer, list | tuple):
        raise Infeasible(f"{what} must be a list, not {type(answer).__name__}")
    if length is not None and len(answer) != length:
        raise Infeasible(f"{what} must have {length} entries, not {len(answer)}")
    return list(answer)


def check_choice(answer: Any, count: int, what: str) -> list[int]:
    """Different numbers from 0 to count - 1."""
    numbers = [whole(n, 0, count - 1, what) for n in check_list(answer, "the answer")]
    if len(set(numbers)) < len(numbers):
        raise Infeasible(f"a {what} is listed twice")
    return numbers


def order(answer: Any, count: int, what: str) -> list[int]:
    """Every number from 0 to count - 1 once."""
    numbers = check_choice(answer, count, what)
    if len(numbers) < count:
        missing = count - len(numbers)
        raise Infeasible(f"{missing} of {count} are missing: list every {what} once")
    return numbers


# Drawing instances


def plane(rng: Rng, count: int) -> list[list[int]]:
    """Rounded distances between random points of a square of side 100."""
    points = [(rng.below(101), rng.below(101)) for _ in range(count)]
    return distances(points)


def distances(points: Sequence[tuple[float, float]]) -> list[list[int]]:
    """Euclidean distances, rounded to the nearest whole number as TSPLIB does (EUC_2D)."""
    return [[int(math.hypot(a - c, b - d) + 0.5) for c, d in points] for a, b in points]


def random_graph(rng: Rng, nodes: int, percent: int) -> list[list[int]]:
    """Edges [u, v], u < v, each present with this chance; no node stays alone."""
    edges = [[u, v] for v in range(nodes) for u in range(v) if rng.below(100) < percent]
    for node in range(nodes):
        if not any(node in edge for edge in edges):
            other = (node + 1 + rng.below(nodes - 1)) % nodes
            edges.append(sorted((node, other)))
    return sorted(edges)


# Solving


def exact(model: Linear) -> float:
    """The optimum of a model; raises `InvalidOption` where the solver does not prove it."""
    found = model.solve()
    if found.status != "optimal":
        raise InvalidOption(f"the solver ended with {found.status!r}; choose a smaller instance")
    return found.value


def relaxation_bound(model: Linear) -> float:
    """The optimum of the linear relaxation, a bound on the optimum."""
    return model.solve(relaxed=True).value
