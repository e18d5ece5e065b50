"""Focal diversity: which team of a pool fails least together.

"Multi-Agent Reinforcement Learning with Focal Diversity Optimization" (MARL-Focal) prunes a pool of
models to the team whose members fail on different cases. The measure is the focal negative
correlation of Wu et al., "Boosting Ensemble Accuracy by Revisiting Ensemble Diversity Metrics",
CVPR 2021. It needs to know of every member and every case whether it failed, and nothing else.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from palestra import InvalidOption, UnknownName

from palestra_arena.cost.spending import GameAttempt, Task
from palestra_arena.ratings.contests import Floats
from palestra_arena.statistics import Interval, mean_interval

MOST_TEAMS = 100_000


@dataclass(frozen=True, slots=True)
class FocalTeam:
    """A team of a pool: its focal diversity, and the share of cases that its majority gets right.

    Both are of the cases that teams are chosen on. `merit` weighs the two.
    """

    members: tuple[str, ...]
    diversity: float
    majority: float
    merit: float


@dataclass(frozen=True, slots=True)
class TeamChoice:
    """The team that was chosen on some cases, and how it does on the others.

    `teams` are all teams, the best first. `tested` is the majority's accuracy of the first on the
    cases that it was not chosen on, `single` that of the agent which was best on the others, and
    `gain` the paired difference, each with a 95 % interval.
    """

    teams: tuple[FocalTeam, ...]
    single_agent: str
    tested: Interval
    single: Interval
    gain: Interval

    @property
    def team(self) -> FocalTeam:
        """The team that was chosen."""
        return self.teams[0]


def focal_diversity(failures: ArrayLike) -> float:
    """The focal diversity of a team, from 0 (all fail together) to 1 (no two fail on one case).

    failures: (cases, members), whether a member failed on a case. For each focal member, over the
    cases on which it fails, it is 1 - P(2) / P(1), where P(1) is the chance that a member drawn at
    random fails, and P(2) that two drawn members do. The team has the mean over focal members,
    without those who never fail; 1 if nobody fails. Raises `InvalidOption` for fewer than two
    members.
    """
    table = _checked(failures)
    size = table.shape[1]
    if size < 2:
        raise InvalidOption(f"a team has two members or more, not {size}")
    together = table.sum(axis=1)
    apart = []
    for focal in range(size):
        failed = together[table[:, focal]]
        if len(failed):
            one = (failed / size).mean()
            two = (failed * (failed - 1) / (size * (size - 1))).mean()
            apart.append(1 - two / one)
    return float(np.mean(apart)) if apart else 1.0


def majority(failures: ArrayLike) -> Floats:
    """Of every case 1 if more than half of the members are right, 1/2 for half, 0 otherwise."""
    table = _checked(failures)
    share = 1 - table.mean(axis=1)
    return np.where(np.isclose(share, 0.5), 0.5, (share > 0.5).astype(float))


def choose_team(
    failures: Mapping[str, Sequence[bool] | NDArray[np.bool_]],
    sizes: Iterable[int] = (3,),
    *,
    weight: float = 0.5,
    chosen_on: Sequence[bool] | None = None,
) -> TeamChoice:
    """The best team of a pool by diversity and majority on one half, tested on the other half.

    failures: of every agent whether it failed, on the same cases in the same order. sizes: of the
    teams that are compared. weight: of the diversity in a team's merit, from 0 to 1; the accuracy
    of its majority has the rest. chosen_on: the cases that teams are chosen on, by default every
    other one from the first on; those of one start belong on one side. Ties go to the smaller team,
    then to the order of the pool. Raises `InvalidOption` for unequal cases, sizes that the pool
    does not have, and more than 100,000 teams.
    """
    pool = list(failures)
    table = _table(failures)
    if not 0 <= weight <= 1:
        raise InvalidOption(f"weight must be from 0 to 1, not {weight}")
    half = (
        np.arange(len(table)) % 2 == 0 if chosen_on is None else np.asarray(chosen_on, dtype=bool)
    )
    if half.shape != (len(table),) or half.all() or not half.any():
        raise InvalidOption("both halves need a case: chosen_on says of every case which it is in")
    seen, unseen = table[half], table[~half]
    teams = [
        _judged(pool, seen, places, weight) for places in _teams(len(pool), sorted(set(sizes)))
    ]
    ranked = sorted(teams, key=lambda one: -one.merit)
    best = int(np.argmin(seen.mean(axis=0)))
    places = [pool.index(name) for name in ranked[0].members]
    right, alone = majority(unseen[:, places]), 1.0 - unseen[:, best]
    return TeamChoice(
        teams=tuple(ranked),
        single_agent=pool[best],
        tested=mean_interval(right, bounds=(0, 1)),
        single=mean_interval(alone, bounds=(0, 1)),
        gain=mean_interval(right - alone, bounds=(-1, 1)),
    )


def failures_of(
    attempts: Iterable[GameAttempt], agents: Sequence[str] = ()
) -> tuple[dict[str, list[bool]], list[Task]]:
    """Of every agent whether it failed from each start, and the starts; for `choose_team`.

    attempts: as `attempts_from` reads them from results or records. agents: the pool; by default
    all agents that there are. An agent that attempted a start more than once failed if it passed
    half of the attempts or fewer. Starts that not all of the pool attempted are left out. Raises
    `UnknownName` for an agent without attempts.
    """
    made: dict[Task, dict[str, list[bool]]] = {}
    for one in attempts:
        made.setdefault(one.task, {}).setdefault(one.agent, []).append(one.passed)
    known = list(dict.fromkeys(name for each in made.values() for name in each))
    for name in agents:
        if name not in known:
            raise UnknownName("agent of these attempts", name, known)
    pool = list(agents) or known
    starts = sorted(start for start, each in made.items() if set(pool) <= set(each))
    table = {
        name: [2 * sum(made[start][name]) <= len(made[start][name]) for start in starts]
        for name in pool
    }
    return table, starts


def _judged(
    pool: Sequence[str], seen: NDArray[np.bool_], places: tuple[int, ...], weight: float
) -> FocalTeam:
    own = seen[:, places]
    diversity, right = focal_diversity(own), float(majority(own).mean())
    merit = weight * diversity + (1 - weight) * right
    return FocalTeam(tuple(pool[place] for place in places), diversity, right, merit)


def _teams(pool: int, sizes: Sequence[int]) -> Iterable[tuple[int, ...]]:
    if not sizes or not 2 <= sizes[0] <= sizes[-1] <= pool:
        raise InvalidOption(f"sizes must be from 2 to the pool's {pool}, not {list(sizes)}")
    count = sum(math.comb(pool, size) for size in sizes)
    if count > MOST_TEAMS:
        raise InvalidOption(f"{count:,} teams are too many; give fewer sizes or a smaller pool")
    return itertools.chain.from_iterable(itertools.combinations(range(pool), s) for s in sizes)


def _table(failures: Mapping[str, Sequence[bool] | NDArray[np.bool_]]) -> NDArray[np.bool_]:
    lengths = {name: len(cases) for name, cases in failures.items()}
    if len(set(lengths.values())) != 1:
        raise InvalidOption(f"all agents must have the same cases; they have {lengths}")
    return _checked(np.array([list(cases) for cases in failures.values()], dtype=bool).T)


def _checked(failures: ArrayLike) -> NDArray[np.bool_]:
    table = np.asarray(failures)
    if table.ndim != 2 or not table.size:
        raise InvalidOption(f"failures must be (cases, members), not {table.shape}")
    if not np.isin(table, (0, 1)).all():
        raise InvalidOption("every failure must be true or false")
    return table.astype(bool)
