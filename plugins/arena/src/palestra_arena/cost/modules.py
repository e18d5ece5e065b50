"""What each module of an agent contributes: Shapley values, as in CapaBench (arXiv:2502.00510).

Every module has a default and a variant under test; a coalition is the set of modules that are in
their variant, and its value is what the agent so put together scores. All coalitions play the same
seeds, so that differences are paired.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, default_rng
from palestra import InvalidOption

from palestra_arena.ratings.contests import Floats
from palestra_arena.result import GameResult
from palestra_arena.statistics import Interval, mean_interval

Coalition = frozenset[str]
Value = Callable[[Coalition], float | Sequence[float]]
MOST_EXACT = 16  # modules: 65,536 coalitions


@dataclass(frozen=True, slots=True)
class Attribution:
    """Shapley values by module, in the units of the value; they sum to `full` less `empty`.

    `interactions` (exact only) are Shapley interaction indices of pairs: what two modules
    contribute together beyond what each contributes alone. `coalitions` is how many were evaluated.
    """

    shares: dict[str, Interval]
    interactions: dict[tuple[str, str], float]
    empty: float
    full: float
    coalitions: int


def attribute(
    modules: Sequence[str],
    value: Value,
    *,
    permutations: int | None = None,
    seed: int = 0,
    confidence: float = 0.95,
) -> Attribution:
    """Shapley values over all coalitions, or over random orders if `permutations` is given.

    `value` returns a number, or one number per task; with tasks there are intervals. With
    `permutations` an interval is over orders, and every order is followed by its reverse, which
    lowers the variance.
    """
    if not modules or len(set(modules)) != len(modules):
        raise InvalidOption("name at least one module, and each once")
    known = _Values(value)
    samples: Mapping[str, Floats | list[float]]
    if permutations is None:
        if len(modules) > MOST_EXACT:
            raise InvalidOption(
                f"{len(modules)} modules make {2 ** len(modules):,} coalitions; give permutations"
            )
        samples = {m: _exact(m, modules, known) for m in modules}
    elif permutations < 2:
        raise InvalidOption(f"permutations must be 2 or more, not {permutations}")
    else:
        samples = _sample_contributions(modules, known, permutations, default_rng(seed))
    exact = permutations is None
    return Attribution(
        shares={m: mean_interval(made, confidence) for m, made in samples.items()},
        interactions=_interactions(modules, known) if exact else {},
        empty=float(known(Coalition()).mean()),
        full=float(known(Coalition(modules)).mean()),
        coalitions=len(known.seen),
    )


class _Values:
    """A value function that evaluates every coalition once; all must have equally many tasks."""

    def __init__(self, value: Value) -> None:
        self._value = value
        self.seen: dict[Coalition, Floats] = {}

    def __call__(self, coalition: Coalition) -> Floats:
        if coalition not in self.seen:
            found = np.atleast_1d(np.asarray(self._value(coalition), dtype=float))
            known = next(iter(self.seen.values()), found)
            if found.shape != known.shape or found.ndim != 1 or not np.isfinite(found).all():
                named = ", ".join(sorted(coalition)) or "no module"
                raise InvalidOption(
                    f"the value of {named} has shape {found.shape}, of others {known.shape}; give "
                    "one finite number, or one per task and as many for every coalition"
                )
            self.seen[coalition] = found
        return self.seen[coalition]


def _subsets(modules: Iterable[str]) -> Iterable[Coalition]:
    rest = list(modules)
    for size in range(len(rest) + 1):
        yield from map(frozenset, itertools.combinations(rest, size))


def _exact(module: str, modules: Sequence[str], value: _Values) -> Floats:
    """|S|! (m - |S| - 1)! / m! of every marginal contribution, by task."""
    count = len(modules)
    share = np.zeros_like(value(Coalition()))
    for others in _subsets(m for m in modules if m != module):
        weight = 1 / (count * math.comb(count - 1, len(others)))
        share = share + weight * (value(others | {module}) - value(others))
    return share


def _interactions(modules: Sequence[str], value: _Values) -> dict[tuple[str, str], float]:
    """Grabisch and Roubens (1999): the mean second difference, weighted as marginals are."""
    count, found = len(modules), {}
    for one, two in itertools.combinations(modules, 2):
        index = 0.0
        for rest in _subsets(m for m in modules if m not in (one, two)):
            weight = 1 / ((count - 1) * math.comb(count - 2, len(rest)))
            both = value(rest | {one, two}) - value(rest | {one})
            index += weight * float((both - value(rest | {two}) + value(rest)).mean())
        found[one, two] = index
    return found


def _sample_contributions(
    modules: Sequence[str], value: _Values, permutations: int, rng: Generator
) -> dict[str, list[float]]:
    """Marginal contributions along random orders (Castro et al. 2009); a pair is one sample."""
    samples: dict[str, list[float]] = {m: [] for m in modules}
    for _ in range(-(-permutations // 2)):
        order = [modules[i] for i in rng.permutation(len(modules))]
        forth, back = _marginals(order, value), _marginals(order[::-1], value)
        for module in modules:
            samples[module].append((forth[module] + back[module]) / 2)
    return samples


def _marginals(order: Sequence[str], value: _Values) -> dict[str, float]:
    inside, made = Coalition(), {}
    for module in order:
        made[module] = float((value(inside | {module}) - value(inside)).mean())
        inside |= {module}
    return made


def coalition_values(results: Iterable[GameResult], agents: Mapping[Coalition, str]) -> Value:
    """A value function from a tournament in which an agent played for every coalition.

    The value is an agent's mean return by task (environment, seed), for the tasks that all of them
    played.
    """
    scores: dict[str, dict[object, list[float]]] = {name: {} for name in agents.values()}
    for result in results:
        if not result.counts:
            continue
        task = result.match.environment.label, result.match.seed
        for agent, score in zip(result.match.agents, result.scores, strict=True):
            if agent in scores:
                scores[agent].setdefault(task, []).append(score)
    shared = sorted(set.intersection(*(set(by_task) for by_task in scores.values())), key=str)
    if not shared:
        raise InvalidOption("there is no task that the agents of all coalitions played")

    def value(coalition: Coalition) -> list[float]:
        if coalition not in agents:
            raise InvalidOption(f"no agent plays for {sorted(coalition) or 'no module'}")
        by_task = scores[agents[coalition]]
        return [sum(by_task[task]) / len(by_task[task]) for task in shared]

    return value
