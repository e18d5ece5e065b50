"""How general agents are: normalised scores over many unlike tasks, compared by percentiles.

The evaluation of Open Ended Learning Team et al., "Open-Ended Learning Leads to Generally Capable
Agents", 2021 (arXiv:2107.12808). A mean over tasks hides failures and is led by tasks that pay
much; here each task is scaled by the best that is reached on it, and low percentiles show failures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from palestra import InvalidOption

from palestra_arena.meta_game.normal_form import read_payoffs, strategy_values
from palestra_arena.meta_game.solvers import nash_mixes

Floats = NDArray[np.float64]
PERCENTILES = (0, 10, 20, 50)


class Generality(NamedTuple):
    """The share of tasks with a score above 0, and `PERCENTILES` of normalised scores."""

    participation: float
    percentiles: tuple[float, ...]

    def at_least(self, other: Generality) -> bool:
        """Whether no percentile is lower; of two agents it may hold for neither."""
        pairs = zip(self.percentiles, other.percentiles, strict=True)
        return all(mine >= theirs for mine, theirs in pairs)


def shares_of_best(scores: ArrayLike) -> Floats:
    """Scores (agents, tasks) from 0 up, as shares of the best any agent reached on the task.

    Where nobody reached anything all have 0.
    """
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or not table.size or not (np.isfinite(table) & (table >= 0)).all():
        raise InvalidOption(
            "scores must be (agents, tasks) of finite numbers from 0 up; add what the worst play "
            "of a task costs to its scores first"
        )
    return _share(table, table.max(axis=0))


def shares_of_equilibrium(payoffs: Sequence[ArrayLike]) -> tuple[Floats, Floats]:
    """Each agent's share (agents,) of the equilibrium value of one competitive task, by seat.

    `payoffs` are two tables (agents, agents) of what the first and the second seat are paid, from
    0 up and adding up to the same everywhere. An agent plays against the other seat's mix over all
    agents in an equilibrium, and is scaled by what the own seat's mix gets there: agents in the mix
    have 1, and none has more.
    """
    tables = read_payoffs(payoffs)
    if len(tables) != 2 or any((table < 0).any() for table in tables):
        raise InvalidOption("payoffs must be two tables of numbers from 0 up, one per seat")
    total = tables[0] + tables[1]
    if not np.allclose(total, total.flat[0]):
        raise InvalidOption(
            f"payoffs of both seats must add up to the same everywhere, not to {total.min():g} "
            f"and {total.max():g}; where seats do not compete, use shares_of_best"
        )
    mixes = nash_mixes((tables[0] - total / 2, tables[1] - total / 2))
    values = [strategy_values(tables, mixes, seat) for seat in (0, 1)]
    first, second = (_share(v, v @ mix) for v, mix in zip(values, mixes, strict=True))
    return first, second


def _share(scores: Floats, best: ArrayLike) -> Floats:
    reference = np.broadcast_to(best, scores.shape)
    return np.divide(scores, reference, out=np.zeros_like(scores), where=reference > 0)


def generality(shares: ArrayLike) -> Generality:
    """Participation and percentiles of one agent's normalised scores (tasks,)."""
    scores = np.asarray(shares, dtype=float)
    if scores.ndim != 1 or not scores.size or not np.isfinite(scores).all():
        raise InvalidOption(f"shares must be one finite number a task, not shape {scores.shape}")
    cut = np.percentile(scores, PERCENTILES).tolist()
    return Generality(float((scores > 0).mean()), tuple(cut))


def pareto_front(agents: Mapping[str, Generality]) -> list[str]:
    """The Pareto front: agents than which nobody is at least as good and in something better."""
    return [
        name
        for name, mine in agents.items()
        if all(mine.at_least(other) for other in agents.values() if other.at_least(mine))
    ]
